package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"example.com/flashsale/internal/pageview"
	"example.com/flashsale/loadtest/rig"
)

// pausing are the drivers whose holder is stopped: one without a fence, as the
// control, and those with one.
var pausing = []struct{ name, expect string }{
	{"redis", "break"}, {"redisson", "hold"}, {"mysql", "hold"}, {"zk", "hold"}, {"etcd", "hold"},
}

// Pauses is what a holder did that had been stopped beyond its lease.
type Pauses struct {
	Lock     string `json:"lock"`
	Expect   string `json:"expect"`
	Status   int    `json:"status"`   // of the stopped holder's view
	Others   int    `json:"others"`   // views answered meanwhile with 200
	Counted  int64  `json:"counted"`  // in the end
	Answered int    `json:"answered"` // 200 in all
	Pass     bool   `json:"pass"`
}

// pause stops instance a, a real process, while it holds the lock and has
// read the count; lets b count three times; and wakes a up again.
func pause(ctx context.Context, s *rig.Stack, driver, expect string) (Pauses, error) {
	p := Pauses{Lock: driver, Expect: expect}
	sv, err := start(ctx, s, "single", driver, "CLAIM_TIMEOUT=60s")
	if err != nil {
		return p, err
	}
	err = p.play(ctx, sv)
	return p, errors.Join(err, sv.Stop())
}

func (p *Pauses) play(ctx context.Context, sv *Service) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	if _, err := post(ctx, sv.A.Client(), "/v3/pview"); err != nil { // the connections are there
		return err
	}
	type result struct {
		status int
		err    error
	}
	late := make(chan result, 1)
	go func() {
		status, err := post(ctx, sv.A.Client(), "/v3/pview?think=2s")
		late <- result{status, err}
	}()
	time.Sleep(time.Second) // half of its thinking
	sv.A.Pause()
	for range 3 {
		status, err := post(ctx, sv.B.Client(), "/v3/pview")
		if err != nil {
			return err
		}
		if status == http.StatusOK {
			p.Others++
		}
	}
	sv.A.Resume()
	r := <-late
	if r.err != nil {
		return r.err
	}
	p.Status, p.Answered = r.status, 1+p.Others
	if r.status == http.StatusOK {
		p.Answered++
	}
	var err error
	if p.Counted, err = sv.rdb.Get(ctx, pageview.Key).Int64(); err != nil {
		return err
	}
	overwritten := p.Counted != int64(1+p.Others)
	p.Pass = p.Others == 3 && overwritten == (p.Expect == "break")
	return nil
}

func post(ctx context.Context, c *http.Client, path string) (status int, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://api"+path, nil)
	if err != nil {
		return 0, err
	}
	status, _, err = rig.Answer(c, req)
	return status, err
}

const pauseRow = "%-10s %-6s %6s %7s  %-12s %8s %9s  %-8s %s\n"

func (p Pauses) print() {
	fence, write := "yes", "refused"
	if p.Lock == "redis" {
		fence = "no"
	}
	if p.Counted != int64(1+p.Others) {
		write = "overwrites"
	}
	fmt.Printf(pauseRow, p.Lock, fence, "1", fmt.Sprint(p.Others), write, fmt.Sprint(p.Counted), fmt.Sprint(p.Answered), p.Expect, yes(p.Pass))
}
