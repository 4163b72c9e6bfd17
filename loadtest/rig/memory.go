package rig

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"time"
)

// SampleMemory samples the resident memory of a process every 100 ms. Calling
// stop ends that and returns the highest sample in MB.
func SampleMemory(pid int) (stop func() (float64, error)) {
	done, result := make(chan struct{}), make(chan float64)
	var err error
	go func() {
		peak := 0.0
		for {
			var mb float64
			if mb, err = residentMB(pid); err == nil {
				peak = max(peak, mb)
			}
			select {
			case <-done:
				result <- peak
				return
			case <-time.After(100 * time.Millisecond):
			}
		}
	}()
	return func() (float64, error) {
		close(done)
		return <-result, err
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
