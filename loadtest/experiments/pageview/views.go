package pageview

import (
	"context"
	"errors"
	"fmt"

	"github.com/redis/go-redis/v9"

	"example.com/flashsale/internal/pageview"
	"example.com/flashsale/loadtest/rig"
)

// burstSize is how many views are sent at once.
const burstSize = 666

// A Trial says how page views are sent, and to what.
type Trial struct {
	Topology string `json:"redis"`
	Sender   string `json:"sender"`  // k6 or jmeter
	Version  string `json:"version"` // of the route: v1 to v4
	Lock     string `json:"lock"`
	Expect   string `json:"expect"` // hold or break
}

func (t Trial) String() string {
	return fmt.Sprintf("%s %s, %s, %s", t.Version, t.Lock, t.Topology, t.Sender)
}

// Trials returns the versions that have to lose views, the third version under each
// driver, and the fourth.
func Trials(topology, sender string, drivers ...string) []Trial {
	all := []Trial{{topology, sender, "v1", "none", "break"}, {topology, sender, "v2", "local", "break"}}
	for _, driver := range drivers {
		all = append(all, Trial{topology, sender, "v3", driver, "hold"})
	}
	return append(all, Trial{topology, sender, "v4", "redlock", "hold"})
}

// Views is the result of a trial.
type Views struct {
	Trial
	Counted   int64   `json:"counted"`
	Answered  int64   `json:"answered"` // with 200
	Lost      int64   `json:"lost"`     // answered with 200 and not counted
	PerSecond float64 `json:"per_second"`
	WaitP50   float64 `json:"wait_p50_ms"`
	WaitP99   float64 `json:"wait_p99_ms"`
	OnA       int64   `json:"on_a"`
	OnB       int64   `json:"on_b"`
	Pass      bool    `json:"pass"`
}

// SendAll starts the service for each trial, sends its views at once and compares
// the count with the replies. It reports whether all trials pass.
func SendAll(ctx context.Context, s *rig.Stack, steps *rig.Steps, trials []Trial) (all []Views, pass bool, err error) {
	pass = true
	for _, t := range trials {
		steps.Next("page views, %s", t)
		v, err := send(ctx, s, t)
		if err != nil {
			return nil, false, fmt.Errorf("page views, %s: %w", t, err)
		}
		all, pass = append(all, v), pass && v.Pass
	}
	return all, pass, nil
}

func send(ctx context.Context, s *rig.Stack, t Trial) (Views, error) {
	v := Views{Trial: t}
	err := s.WithService(ctx, t.Topology, t.Lock,
		func(service *rig.Service) error { return v.send(ctx, s, service) }, "CLAIM_TIMEOUT=60s")
	return v, err
}

func (v *Views) send(ctx context.Context, s *rig.Stack, service *rig.Service) error {
	dir, err := s.Dir("pview")
	if err != nil {
		return err
	}
	generate := v.k6
	if v.Sender == "jmeter" {
		generate = v.jmeter
	}
	if err := generate(ctx, dir, service.Nginx.URL); err != nil {
		return err
	}
	v.Counted, err = service.Redis.Get(ctx, pageview.Key).Int64()
	if err != nil && !errors.Is(err, redis.Nil) {
		return err
	}
	v.judge()
	return nil
}

// judge sets Lost and Pass. Both instances must have counted.
func (v *Views) judge() {
	v.Lost = v.Answered - v.Counted
	exact := v.Counted == burstSize && v.Answered == burstSize
	v.Pass = v.OnA > 0 && v.OnB > 0 && (exact && v.Expect == "hold" || v.Lost > 0 && v.Expect == "break")
}
