package cores

import (
	"errors"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// allowed returns the cores that the calling thread may use.
func allowed() (cores []int, err error) {
	var set unix.CPUSet
	err = unix.SchedGetaffinity(0, &set)
	for core := range 64 * len(set) {
		if set.IsSet(core) {
			cores = append(cores, core)
		}
	}
	return cores, err
}

// use lets all threads of this process use these cores only. The second time is for
// those that another thread started during the first one: they have its cores.
func use(cores ...int) error {
	var set unix.CPUSet
	for _, core := range cores {
		set.Set(core)
	}
	return errors.Join(setAll(&set), setAll(&set))
}

func setAll(set *unix.CPUSet) error {
	threads, err := os.ReadDir("/proc/self/task")
	for _, thread := range threads {
		id, _ := strconv.Atoi(thread.Name()) // the kernel writes numbers
		failed := unix.SchedSetaffinity(id, set)
		if !errors.Is(failed, unix.ESRCH) { // it has ended
			err = errors.Join(err, failed)
		}
	}
	return err
}
