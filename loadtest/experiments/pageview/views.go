package pageview

import (
	"context"
	"errors"

	"github.com/redis/go-redis/v9"

	"example.com/flashsale/internal/pageview"
	"example.com/flashsale/loadtest/rig"
)

// burstSize is how many views are sent at once.
const burstSize = 666

// A Trial says how page views are sent, and to what.
type Trial struct {
	Sender   string // k6 or jmeter
	Topology string // of Redis
	Version  string // of the route: v1 to v4
	Lock     string
	Expect   string // hold or break
}

// Views is the result of a trial.
type Views struct {
	Topology  string  `json:"redis"`
	Sender    string  `json:"sender"` // k6 or jmeter
	Version   string  `json:"version"`
	Lock      string  `json:"lock"`
	Expect    string  `json:"expect"` // hold or break
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

// Send starts the service, sends the views of t at once and compares the count
// with the replies.
func Send(ctx context.Context, s *rig.Stack, t Trial) (Views, error) {
	v := Views{Sender: t.Sender, Topology: t.Topology, Version: t.Version, Lock: t.Lock, Expect: t.Expect}
	service, err := s.StartService(ctx, t.Topology, t.Lock, "CLAIM_TIMEOUT=60s")
	if err != nil {
		return v, err
	}
	err = v.send(ctx, s, service)
	return v, errors.Join(err, service.Stop())
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
