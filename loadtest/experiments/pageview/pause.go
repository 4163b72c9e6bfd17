package pageview

import (
	"context"
	"net/http"
	"time"

	"example.com/flashsale/internal/lab"
	"example.com/flashsale/internal/pageview"
	"example.com/flashsale/loadtest/rig"
	"example.com/flashsale/loadtest/verdict"
)

// pausedDrivers are the drivers whose holder is stopped: two without a fence, as
// the control, and those with one.
var pausedDrivers = []struct{ name, expect string }{
	{"redis", "break"}, {"redisson", "break"}, {"mysql", "hold"}, {"zk", "hold"}, {"etcd", "hold"},
}

// Pauses is what happened to the count when a holder was stopped for longer than
// its lease.
type Pauses struct {
	Lock     string          `json:"lock"`
	Expect   string          `json:"expect"`
	Status   int             `json:"status"`   // of the reply to the stopped holder's view
	Others   int             `json:"others"`   // views that were answered meanwhile with 200
	Counted  int64           `json:"counted"`  // in the end
	Answered int             `json:"answered"` // with 200, in all
	Verdict  verdict.Verdict `json:"verdict"`
}

// pause stops instance a, a real process, while it holds the lock and has read
// the count. Instance b counts three views, and then a continues.
func pause(ctx context.Context, s *rig.Stack, driver, expect string) (Pauses, error) {
	p := Pauses{Lock: driver, Expect: expect}
	err := s.WithService(ctx, "single", driver,
		func(service *rig.Service) error { return p.run(ctx, service) }, "CLAIM_TIMEOUT=60s")
	return p, err
}

func (p *Pauses) run(ctx context.Context, service *rig.Service) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	a, b := service.Instances[0], service.Instances[1]
	if _, err := view(ctx, a, ""); err != nil { // opens the connections
		return err
	}
	type result struct {
		status int
		err    error
	}
	late := make(chan result, 1)
	go func() {
		status, err := view(ctx, a, "?think=2s")
		late <- result{status, err}
	}()
	time.Sleep(time.Second) // a has read the count and has not yet written it
	a.Pause()
	const views = 3
	for range views {
		status, err := view(ctx, b, "")
		if err != nil {
			return err
		}
		if status == http.StatusOK {
			p.Others++
		}
	}
	a.Resume()
	r := <-late
	if r.err != nil {
		return r.err
	}
	p.Status, p.Answered = r.status, 1+p.Others
	if r.status == http.StatusOK {
		p.Answered++
	}
	var err error
	if p.Counted, err = service.Redis.Get(ctx, pageview.Key).Int64(); err != nil {
		return err
	}
	p.judge(views)
	return nil
}

// judge sets Verdict. If all views were counted, a was stopped before it had read the
// count, and nothing was tried.
func (p *Pauses) judge(others int) {
	tried := p.Others == others && p.Counted <= int64(1+p.Others)
	if p.Verdict = verdict.Void; tried {
		p.Verdict = verdict.Of(p.Expect == "break", p.overwritten(), true)
	}
}

func pauseVerdicts(pauses []Pauses) (all []verdict.Verdict) {
	for _, p := range pauses {
		all = append(all, p.Verdict)
	}
	return all
}

// overwritten reports whether the stopped holder's write replaced the count of
// the others.
func (p Pauses) overwritten() bool { return p.Counted < int64(1+p.Others) }

func view(ctx context.Context, i *lab.API, query string) (status int, err error) {
	status, _, err = rig.Client{URL: i.URL(), HTTP: http.DefaultClient}.Do(ctx, http.MethodPost,
		"/v3/pview"+query, "", nil)
	return status, err
}
