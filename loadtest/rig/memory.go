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
	peak, done, ended := 0.0, make(chan struct{}), make(chan error)
	sample := func() (err error) {
		for _, pid := range pids {
			mb, memoryErr := residentMB(pid)
			peak, err = max(peak, mb), errors.Join(err, memoryErr)
		}
		return err
	}
	go func() {
		for {
			err := sample()
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
