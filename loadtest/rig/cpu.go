package rig

import (
	"fmt"
	"os"
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
