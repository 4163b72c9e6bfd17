package lab

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"time"
)

// SampleMemory samples the resident memory of processes, each with its children, every
// 100 ms. Calling stop ends that and returns the highest sample of any in MB, and the error
// of the last samples.
func SampleMemory(pids ...int) (stop func() (float64, error)) {
	peak, done, ended := 0.0, make(chan struct{}), make(chan error)
	go func() {
		for {
			var errs []error
			for _, pid := range pids {
				mb, err := MemoryMB(pid)
				peak, errs = max(peak, mb), append(errs, err)
			}
			select {
			case <-done:
				ended <- errors.Join(errs...)
				return
			case <-time.After(100 * time.Millisecond):
			}
		}
	}()
	return func() (float64, error) {
		close(done)
		err := <-ended
		return peak, err
	}
}

// MemoryMB returns the resident memory of a process and its children.
func MemoryMB(pid int) (sum float64, err error) {
	for _, p := range append(Children(pid), pid) {
		mb, memoryErr := residentMB(p)
		sum, err = sum+mb, errors.Join(err, memoryErr)
	}
	return sum, err
}

// Children returns the processes that pid has started: none where the system does
// not list them.
func Children(pid int) (pids []int) {
	threads, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	for _, thread := range threads {
		list, _ := os.ReadFile(thread) // it may have ended
		for field := range strings.FieldsSeq(string(list)) {
			child, _ := strconv.Atoi(field) // the kernel writes numbers
			pids = append(pids, child)
		}
	}
	return pids
}

// residentMB returns the resident memory of a process.
func residentMB(pid int) (float64, error) {
	if runtime.GOOS != "linux" {
		out, err := exec.Command("ps", "-o", "rss=", "-p", strconv.Itoa(pid)).Output()
		if err != nil {
			return 0, err
		}
		kb, err := strconv.ParseFloat(strings.TrimSpace(string(out)), 64)
		return kb / 1024, err
	}
	statm, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", pid))
	if err != nil {
		return 0, err
	}
	pages, err := strconv.ParseFloat(strings.Fields(string(statm))[1], 64)
	return pages * float64(os.Getpagesize()) / (1 << 20), err
}
