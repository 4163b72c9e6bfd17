package rig

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"time"
)

// SampleMemory samples the resident memory of processes every 100 ms. Calling
// stop ends that and returns the highest sample of any in MB.
func SampleMemory(pids ...int) (stop func() (float64, error)) {
	return samplePeak(func() (most float64, err error) {
		for _, pid := range pids {
			mb, memoryErr := residentMB(pid)
			most, err = max(most, mb), errors.Join(err, memoryErr)
		}
		return most, err
	})
}

// samplePeak calls sample every 100 ms. Calling stop ends that and returns the
// highest result, and the error of the last call.
func samplePeak(sample func() (float64, error)) (stop func() (float64, error)) {
	peak, done, ended := 0.0, make(chan struct{}), make(chan error)
	go func() {
		for {
			mb, err := sample()
			peak = max(peak, mb)
			select {
			case <-done:
				ended <- err
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

// SampleSum is SampleMemory of a server and its workers together.
func SampleSum(pid int) (stop func() (float64, error)) {
	return samplePeak(func() (sum float64, err error) {
		for _, p := range append(Children(pid), pid) {
			mb, memoryErr := residentMB(p)
			sum, err = sum+mb, errors.Join(err, memoryErr)
		}
		return sum, err
	})
}

// Children returns the processes that pid has started: none where the system does
// not list them.
func Children(pid int) (pids []int) {
	list, _ := os.ReadFile(fmt.Sprintf("/proc/%[1]d/task/%[1]d/children", pid))
	for field := range strings.FieldsSeq(string(list)) {
		if child, err := strconv.Atoi(field); err == nil {
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
