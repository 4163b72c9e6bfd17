package bench

import (
	"fmt"
	"maps"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"example.com/flashsale/internal/check"
	"example.com/flashsale/internal/lab"
	"example.com/flashsale/loadtest/clients"
	"example.com/flashsale/loadtest/rig"
	"example.com/flashsale/loadtest/stats"
)

// An outcome is what became of a load, and what it cost.
type outcome struct {
	phases  []clients.Result
	verdict string                   // of the replies that count
	cpu     map[string]time.Duration // that each process used
	memory  float64                  // MB, of the larger instance, at its peak
}

// turns runs control and subject in turns, and reports subject beside control.
func turns(b *testing.B, name string, control, subject func(*testing.B) outcome) {
	b.Run(name, func(b *testing.B) {
		for b.Loop() {
			before := control(b)
			subject(b).report(b, before)
		}
	})
}

// The processes that a claim takes CPU time of.
const (
	instances, nginx, database, redisServer, loadGenerator = "service", "nginx", "database", "redis", "clients"
)

// cpu returns the CPU time that each process of d has used.
func (d *deployment) cpu(b *testing.B) map[string]time.Duration {
	b.Helper()
	pids := map[string][]int{instances: d.PIDs(), loadGenerator: {os.Getpid()}}
	maps.Copy(pids, d.servers)
	if d.Nginx != nil {
		pids[nginx] = append(lab.Children(d.Nginx.PID()), d.Nginx.PID())
	}
	all := map[string]time.Duration{}
	for process, ids := range pids {
		used, err := cpuTime(ids)
		check.NoError(b, err)
		all[process] = used
	}
	return all
}

// cpuTime returns the CPU time that processes have used. It needs /proc.
func cpuTime(pids []int) (used time.Duration, err error) {
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

// rate returns the claims per second that got the verdict. One without a reply is an error.
func (o outcome) rate(b *testing.B) float64 {
	b.Helper()
	r := o.phases[0]
	if lost := r.Replies(rig.Lost); lost > 0 || len(r.Claims) == 0 {
		b.Fatalf("of %d claims %d got no reply: %s", len(r.Claims), lost, r.Detail)
	}
	var lasted time.Duration // to the last reply
	for _, c := range r.Claims {
		lasted = max(lasted, r.Ended(c))
	}
	return float64(r.Replies(o.verdict)) / lasted.Seconds()
}

// per returns the CPU time of a process for a request, in µs.
func (o outcome) per(process string) float64 {
	return float64(o.cpu[process].Microseconds()) / float64(len(o.phases[0].Claims))
}

// all returns the CPU time of all processes for a request, in µs.
func (o outcome) all() (µs float64) {
	for process := range o.cpu {
		µs += o.per(process)
	}
	return µs
}

// p99 returns milliseconds from the moment at which a claim was due. They include the wait for this
// program, which rules out coordinated omission.
func (o outcome) p99() float64 {
	sinceDue := func(c rig.Claim) time.Duration { return c.Received.Sub(c.Due) }
	return quantile(o.phases[0].Times(sinceDue), 0.99)
}

// quantile returns a quantile in milliseconds.
func quantile(times []time.Duration, q float64) float64 {
	return rig.Milliseconds(stats.Quantile(times, q))
}

// report reports the rate of the verdict, the p99, what a request costs each process, and the memory; and
// the ratios to control, which ran just before: whatever slows the machine slows both.
func (o outcome) report(b *testing.B, control outcome) {
	b.Helper()
	b.ReportMetric(0, "ns/op") // of both
	for process := range o.cpu {
		b.ReportMetric(o.per(process), process+"-µs")
	}
	b.ReportMetric(o.memory, "mem-mb")
	b.ReportMetric(control.rate(b), "control-per-s")
	b.ReportMetric(control.per(instances), "control-service-µs")
	for _, f := range []struct {
		unit, ratio string
		of          func(outcome) float64
	}{
		{"per-s", "rate-ratio", func(o outcome) float64 { return o.rate(b) }},
		{"p99-ms", "p99-ratio", outcome.p99},
		{"all-µs", "all-ratio", outcome.all},
		{"service-µs", "service-ratio", func(o outcome) float64 { return o.per(instances) }},
	} {
		b.ReportMetric(f.of(o), f.unit)
		b.ReportMetric(f.of(o)/f.of(control), f.ratio)
	}
}

// void reports that what was to be measured did not happen, in place of figures.
func void(b *testing.B) {
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(1, "void")
}
