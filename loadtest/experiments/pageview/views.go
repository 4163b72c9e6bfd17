package pageview

import (
	"context"
	"errors"
	"fmt"

	"github.com/redis/go-redis/v9"

	"example.com/flashsale/internal/pageview"
	"example.com/flashsale/loadtest/rig"
	"example.com/flashsale/loadtest/stats"
	"example.com/flashsale/loadtest/trial"
	"example.com/flashsale/loadtest/verdict"
)

// burstSize is how many views are sent at once.
const burstSize = 666

// A Trial says how page views are sent, and to what.
type Trial struct {
	Topology string `json:"redis"`
	Sender   string `json:"sender"` // k6 or jmeter
	Method   string `json:"method"`
	Version  string `json:"version"` // of the route: v0 to v4
	Lock     string `json:"lock"`
	Expect   string `json:"expect"` // hold or break
}

// article is what the article on page views counts in its versions under a lock, of 666.
var article = map[string]string{"v1 none": "34", "v2 local": "391", "v3 redisson": "666", "v4 redlock": "666"}

func (t Trial) String() string {
	lock := t.Lock
	if t.Version == "v0" {
		lock += ", INCR"
	}
	return fmt.Sprintf("%s %s, %s, %s", t.Version, lock, t.Topology, t.Sender)
}

// Trials returns the version without a lock that cannot lose views, those that have
// to lose some, the third version under each driver, and the fourth. JMeter sends
// GET, as the article's routes allow.
func Trials(topology, sender string, drivers ...string) (all []Trial) {
	method := map[string]string{"k6": "POST", "jmeter": "GET"}[sender]
	add := func(version, lock, expect string) {
		all = append(all, Trial{topology, sender, method, version, lock, expect})
	}
	add("v0", "none", "hold")
	add("v1", "none", "break")
	add("v2", "local", "break")
	for _, driver := range drivers {
		add("v3", driver, "hold")
	}
	add("v4", "redlock", "hold")
	return all
}

// Views is the result of a trial. A view is a duplicate if another view was told the
// same count: on the same instance, or across the two.
type Views struct {
	Trial
	Counted   int64   `json:"counted"`
	Answered  int64   `json:"answered"` // with 200
	Lost      int64   `json:"lost"`     // answered with 200 and not counted
	WithinA   int64   `json:"duplicates_within_a"`
	WithinB   int64   `json:"duplicates_within_b"`
	Across    int64   `json:"duplicates_across"` // counts that a view on each was told
	PerSecond float64 `json:"per_second"`
	WaitP50   float64 `json:"wait_p50_ms"`
	WaitP99   float64 `json:"wait_p99_ms"`
	InFlight  int     `json:"max_in_flight"`
	OnA       int64   `json:"on_a"`
	OnB       int64   `json:"on_b"`
	trial.Judged

	stack *rig.Stack
}

// On returns a row for each trial on s.
func On(s *rig.Stack, trials []Trial) (rows []*Views) {
	for _, t := range trials {
		rows = append(rows, &Views{Trial: t, stack: s})
	}
	return rows
}

func (v *Views) String() string { return "page views, " + v.Trial.String() }

// Run starts the service, sends the views at once and compares the count with the replies.
func (v *Views) Run(ctx context.Context) (verdict.Verdict, error) {
	*v = Views{Trial: v.Trial, stack: v.stack}
	err := v.stack.WithService(ctx, v.Topology, v.Lock,
		func(service *rig.Service) error { return v.send(ctx, service) }, "CLAIM_TIMEOUT=60s")
	return v.Verdict, err
}

func (v *Views) send(ctx context.Context, service *rig.Service) error {
	dir, err := v.stack.Dir("pview")
	if err != nil {
		return err
	}
	generate := v.k6
	if v.Sender == "jmeter" {
		generate = v.jmeter
	}
	samples, err := generate(ctx, dir, service.Nginx.URL)
	if err != nil {
		return err
	}
	replies, err := repliesOf(samples)
	if err != nil {
		return err
	}
	v.Counted, err = service.Redis.Get(ctx, pageview.Key).Int64()
	if err != nil && !errors.Is(err, redis.Nil) {
		return err
	}
	v.add(replies)
	v.judge()
	return nil
}

// add sums up the replies.
func (v *Views) add(replies []reply) {
	if len(replies) == 0 {
		return
	}
	told := map[string]map[int64]int64{"a": {}, "b": {}} // views by count
	var waits []float64
	var all rig.Burst
	for _, r := range replies {
		if told[r.Instance] != nil {
			told[r.Instance][r.count]++
		}
		waits, all.Claims = append(waits, r.wait), append(all.Claims, r.Claim)
	}
	v.InFlight = all.MaxInFlight()
	v.Answered = int64(len(replies))
	v.OnA, v.WithinA = viewsOf(told["a"])
	v.OnB, v.WithinB = viewsOf(told["b"])
	for count := range told["a"] {
		if told["b"][count] > 0 {
			v.Across++
		}
	}
	v.WaitP50, v.WaitP99 = stats.Quantile(waits, 0.5), stats.Quantile(waits, 0.99)
	v.PerSecond = float64(v.Answered) / took(replies).Seconds()
}

// viewsOf returns the number of views, and of those among them that were told a
// count which another one was told before.
func viewsOf(told map[int64]int64) (views, duplicates int64) {
	for _, n := range told {
		views, duplicates = views+n, duplicates+n-1
	}
	return views, duplicates
}

// minInFlight is how many views must have been in flight at one moment to show that a
// lock holds. JMeter reaches a dozen where views take no time, and the controls lose
// views with as many.
const minInFlight = 8

// judge sets Lost and Verdict. Both instances must have counted. A view without
// status 200 is as bad as a lost one, unless views are to be lost.
func (v *Views) judge() {
	v.Lost = v.Answered - v.Counted
	control := v.Expect == "break"
	harmed := v.Lost > 0 || !control && (v.Lost < 0 || v.Answered < burstSize)
	if v.Verdict = verdict.Void; v.OnA > 0 && v.OnB > 0 {
		v.Verdict = verdict.Of(control, harmed, v.InFlight >= minInFlight)
	}
}
