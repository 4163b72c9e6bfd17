package main

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"time"
)

// watchMemory samples the resident memory of a process until the function that
// it returns is called, which returns the highest sample in MB.
func watchMemory(pid int) (peak func() (float64, error)) {
	stop, result := make(chan struct{}), make(chan float64)
	var err error
	go func() {
		most := 0.0
		for {
			var mb float64
			if mb, err = resident(pid); err == nil {
				most = max(most, mb)
			}
			select {
			case <-stop:
				result <- most
				return
			case <-time.After(100 * time.Millisecond):
			}
		}
	}()
	return func() (float64, error) {
		close(stop)
		return <-result, err
	}
}

// resident is the memory of a process in MB.
func resident(pid int) (float64, error) {
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
