package labtest

import (
	"os"
	"syscall"
	"testing"
	"time"

	"example.com/flashsale/internal/check"
	"example.com/flashsale/internal/lab"
)

// MeasureCPU resets the timer of b and returns a function that reports the CPU
// time of an operation: as cpu-us/op that of this process, and as servers-us/op
// that of the servers which it has started, on Linux. Other processes disturb CPU
// time less than time.
func MeasureCPU(b *testing.B) (report func()) {
	own, servers := ownCPU(b), serversCPU(b)
	b.ResetTimer()
	return func() {
		perOp := func(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1e3 / float64(b.N) }
		b.ReportMetric(perOp(ownCPU(b)-own), "cpu-us/op")
		if used := serversCPU(b) - servers; used > 0 {
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
func serversCPU(b *testing.B) time.Duration {
	b.Helper()
	used, err := lab.CPUTime(lab.Children(os.Getpid())...)
	check.NoError(b, err)
	return used
}
