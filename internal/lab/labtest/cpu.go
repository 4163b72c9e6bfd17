package labtest

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"example.com/flashsale/internal/check"
)

// MeasureCPU resets the timer of b and returns a function that reports the CPU
// time of an operation: as cpu-us/op that of this process, and as servers-us/op
// that of the servers which it has started, on Linux. Other processes disturb CPU
// time less than time.
func MeasureCPU(b *testing.B) (report func()) {
	own, servers := ownCPU(b), serversCPU()
	b.ResetTimer()
	return func() {
		perOp := func(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1e3 / float64(b.N) }
		b.ReportMetric(perOp(ownCPU(b)-own), "cpu-us/op")
		if used := serversCPU() - servers; used > 0 {
			b.ReportMetric(perOp(used), "servers-us/op")
		}
	}
}

func ownCPU(b *testing.B) time.Duration {
	b.Helper()
	var u syscall.Rusage
	check.NoError(b, syscall.Getrusage(syscall.RUSAGE_SELF, &u))
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// serversCPU returns the CPU time of the running children of this process.
func serversCPU() (sum time.Duration) {
	const tick = 10 * time.Millisecond // USER_HZ is 100 on Linux
	stats, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, file := range stats {
		stat, _ := os.ReadFile(file) // the process may have ended
		// The name in parentheses may contain spaces. After it are the parent, 2, and the
		// times, 12 and 13.
		fields := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
		if len(fields) < 13 || fields[1] != strconv.Itoa(os.Getpid()) {
			continue
		}
		for _, ticks := range fields[11:13] {
			n, _ := strconv.Atoi(ticks)
			sum += time.Duration(n) * tick
		}
	}
	return sum
}
