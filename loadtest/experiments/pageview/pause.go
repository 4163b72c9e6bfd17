package pageview

import (
	"context"
	"net/http"
	"time"

	"golang.org/x/sync/errgroup"

	"example.com/flashsale/internal/lab"
	"example.com/flashsale/internal/pageview"
	"example.com/flashsale/loadtest/rig"
	"example.com/flashsale/loadtest/trial"
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
	Lock     string `json:"lock"`
	Expect   string `json:"expect"`
	Status   int    `json:"status"`   // of the reply to the stopped holder's view
	Others   int    `json:"others"`   // views that were answered meanwhile with 200
	Counted  int64  `json:"counted"`  // in the end
	Answered int    `json:"answered"` // with 200, in all
	trial.Judged

	stack *rig.Stack
}

func (p *Pauses) String() string { return "pause of a holder, lock " + p.Lock }

// Run stops instance a, a real process, while it holds the lock and has read
// the count. Instance b counts three views, and then a continues.
func (p *Pauses) Run(ctx context.Context) (verdict.Verdict, error) {
	*p = Pauses{Lock: p.Lock, Expect: p.Expect, stack: p.stack}
	err := p.stack.WithService(ctx, "single", p.Lock, func(service *rig.Service) error { return p.run(ctx, service) },
		"CLAIM_TIMEOUT=60s")
	return p.Verdict, err
}

func (p *Pauses) run(ctx context.Context, service *rig.Service) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	a, b := service.Instances[0], service.Instances[1]
	if _, err := view(ctx, a, ""); err != nil { // opens the connections
		return err
	}
	var late errgroup.Group
	late.Go(func() (err error) {
		p.Status, err = view(ctx, a, "?think=2s")
		return err
	})
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
	if err := late.Wait(); err != nil {
		return err
	}
	p.Answered = 1 + p.Others
	if p.Status == http.StatusOK {
		p.Answered++
	}
	counted, err := service.Redis.Get(ctx, pageview.Key).Int64()
	p.Counted = counted
	p.judge(views)
	return err
}

// judge sets Verdict. If all views were counted, a was stopped before it had read the
// count, and nothing was tried.
func (p *Pauses) judge(others int) {
	tried := p.Others == others && p.Counted <= int64(1+p.Others)
	if p.Verdict = verdict.Void; tried {
		p.Verdict = verdict.Of(p.Expect == "break", p.overwritten(), true)
	}
}

// overwritten reports whether the stopped holder's write replaced the count of
// the others.
func (p *Pauses) overwritten() bool { return p.Counted < int64(1+p.Others) }

// late says what became of the stopped holder's write.
func (p *Pauses) late() string {
	switch {
	case p.overwritten():
		return "overwrites"
	case p.Counted > int64(1+p.Others):
		return "counted"
	}
	return "refused"
}

func view(ctx context.Context, i *lab.API, query string) (status int, err error) {
	status, _, err = rig.Client{URL: i.URL(), HTTP: http.DefaultClient}.Do(ctx, http.MethodPost,
		"/v3/pview"+query, "", nil)
	return status, err
}
