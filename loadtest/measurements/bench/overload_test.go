package bench

import (
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"testing"
	"time"

	"example.com/flashsale/internal/check"
	"example.com/flashsale/internal/lab"
	"example.com/flashsale/loadtest/clients"
	"example.com/flashsale/loadtest/generator"
	"example.com/flashsale/loadtest/rig"
)

const (
	offerTime    = 4 * time.Second
	afterTime    = 2 * time.Second
	afterRate    = 200 // claims per second after an offer
	claimsAtOnce = 400 // that nginx passes on, as deploy/nginx says for a site that is offered more than it can serve

	leastSent  = 0.9  // share of an offer: the core of the clients may not suffice for more
	mostOfPeak = 1.25 // more means that the peak was measured in a bad moment
)

// More claims than two instances behind nginx can make, in terms of the peak in a closed model just
// before. The servers have one core and the clients another one, as on machines of their own. An
// offer that was not sent, or of which more was made than can be, is void.
func BenchmarkOverload(b *testing.B) {
	status, _ := os.ReadFile("/proc/self/status") // of Linux
	cores := allowedCores.FindStringSubmatch(string(status))
	if cores == nil {
		b.Skip("needs Linux and two cores")
	}
	confine(b, cores[2])
	d := confined(b)
	confine(b, cores[1])
	apart := clients.Load{Under: []string{"taskset", "-c", cores[3]}}
	for _, times := range []int{1, 2, 4} {
		b.Run(fmt.Sprintf("peak=%dx", times), func(b *testing.B) {
			for b.Loop() {
				d.offerTimes(b, apart, float64(times))
			}
		})
	}
}

// allowedCores matches all cores that a process may use, the first, and the last.
var allowedCores = regexp.MustCompile(`(?m)^Cpus_allowed_list:\s*((\d+)[,-](?:\S*[,-])?(\d+))$`)

// confine lets this process use these cores only, and those that it starts from now on.
func confine(b *testing.B, cores string) {
	b.Helper()
	out, err := exec.Command("taskset", "-a", "-c", "-p", cores, strconv.Itoa(os.Getpid())).CombinedOutput()
	if err != nil {
		b.Fatalf("taskset: %v: %s", err, out)
	}
}

// confined starts the pair with servers of its own.
func confined(b *testing.B) *deployment {
	b.Helper()
	s, err := stack.Another(rig.LargeDatabase...)
	check.NoError(b, err)
	return grouped.behindNginx().start(b, s, busyNginx())
}

// busyNginx starts nginx with one worker, another limit of the claims in progress, and under root with
// priority over the instances, which would take all of the core that they share.
func busyNginx() rig.StartNginx {
	edits := []lab.Edit{
		lab.NoLimits,
		{File: "nginx.conf", Before: "worker_processes auto;", After: "worker_processes 1;"},
		{File: "site/claims.conf", Before: "limit_conn claims 12000;",
			After: fmt.Sprintf("limit_conn claims %d;", claimsAtOnce)},
	}
	if os.Geteuid() == 0 {
		const files = "worker_rlimit_nofile 131072;"
		edits = append(edits, lab.Edit{File: "nginx.conf", Before: files, After: files + "\nworker_priority -10;"})
	}
	return lab.StartEditedNginx(edits...)
}

// offerTimes offers so many times the peak, again if the offer was void.
func (d *deployment) offerTimes(b *testing.B, l clients.Load, times float64) {
	b.Helper()
	for range 3 {
		l.Phases = []generator.Phase{{Clients: defaultConns, Duration: offerTime}}
		peak := inTime(d.claim(b, l).phases[0])
		if d.offer(b, l, peak, times*peak) {
			return
		}
	}
	void(b)
}

// offer sends claims at a rate, and a few afterwards. It reports whether the offer was not void.
func (d *deployment) offer(b *testing.B, l clients.Load, peak, rate float64) bool {
	b.Helper()
	l.Phases = []generator.Phase{{Rate: rate, Duration: offerTime}, {Rate: afterRate, Duration: afterTime}}
	o := d.claim(b, l)
	r := o.phases[0]
	sent := float64(r.Count-r.Unsent) / offerTime.Seconds() / rate
	if sent < leastSent || inTime(r) > mostOfPeak*peak {
		return false
	}
	unknown := r.Unexpected() - r.Replies(rig.Overloaded)
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(peak, "peak-per-s")
	b.ReportMetric(inTime(r)/peak, "made-of-peak")
	b.ReportMetric(float64(unknown), "without-a-verdict")
	b.ReportMetric(quantile(r.Times(rig.Claim.Took, rig.Accepted), 1), "slowest-ms")
	b.ReportMetric(quantile(r.Times(rig.Claim.Took, rig.Overloaded), 0.99), "refusal-p99-ms")
	b.ReportMetric(rig.Milliseconds(toNormal(o.phases[1], afterTime)), "to-normal-ms")
	b.ReportMetric(o.memory, "mem-mb")
	return true
}

// inTime returns the claims per second whose acceptance came before the end of the offer.
func inTime(r clients.Result) float64 {
	n := 0
	for _, received := range r.Times(r.Ended, rig.Accepted) {
		if received <= offerTime {
			n++
		}
	}
	return float64(n) / offerTime.Seconds()
}

// toNormal returns the time until inARow claims have been made within quickly, or the duration of the
// phase.
func toNormal(r clients.Result, duration time.Duration) time.Duration {
	const (
		quickly = 100 * time.Millisecond
		inARow  = 20
	)
	row := 0
	for _, c := range slices.SortedFunc(slices.Values(r.Claims),
		func(x, y rig.Claim) int { return x.Sent.Compare(y.Sent) }) {
		if row++; c.Verdict != rig.Accepted || c.Took() > quickly {
			row = 0
		}
		if row == inARow {
			return min(duration, r.Ended(c))
		}
	}
	return duration
}
