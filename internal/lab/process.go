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

// CPUTime returns the CPU time that processes have used. It needs /proc.
func CPUTime(pids ...int) (used time.Duration, err error) {
	const ticksPerSecond = 100 // USER_HZ on Linux
	for _, pid := range pids {
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if err != nil {
			return 0, err
		}
		// The process name in parentheses may contain spaces. After it, utime and stime are fields 12 and 13.
		fields := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
		for _, ticks := range fields[11:13] {
			n, _ := strconv.Atoi(ticks) // the kernel writes numbers
			used += time.Duration(n) * time.Second / ticksPerSecond
		}
	}
	return used, nil
}

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
