package bench

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

// ticksPerSecond is USER_HZ, which is 100 on Linux.
const ticksPerSecond = 100

// processTicks returns the CPU time that a process has used, in ticks. It
// returns an error that os.IsNotExist recognises on a system without /proc.
func processTicks(pid int) (int, error) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, err
	}
	// The process name in parentheses may contain spaces. After it, utime and stime are fields 12 and 13.
	fields := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
	user, err := strconv.Atoi(fields[11])
	if err != nil {
		return 0, err
	}
	system, err := strconv.Atoi(fields[12])
	return user + system, err
}

// cpuTime returns the CPU time that d's only instance has used, or 0 if that is
// not known: behind nginx, or on a system without /proc.
func (d deployment) cpuTime() time.Duration {
	if d.instance == nil {
		return 0
	}
	ticks, err := processTicks(d.instance.PID())
	if err != nil {
		return 0
	}
	return time.Duration(ticks) * time.Second / ticksPerSecond
}

// addCPU adds the service's CPU time per request since before. The noise of
// the load generator and of other processes affects it little.
func (b *bench) addCPU(to rate, d deployment, before time.Duration, requests int) {
	if used := d.cpuTime() - before; used > 0 {
		b.add(to.cpu(), float64(used.Microseconds())/float64(requests))
	}
}
