package httpapi

import (
	"context"
	"math"
	"net/http"
	"sync"
	"time"

	"example.com/flashsale/internal/connect"
)

// A Probe checks one thing that the service needs, such as a server. Check returns an
// error if it is unavailable. It is not called twice at a time.
type Probe struct {
	Name  string
	Check func(context.Context) error
}

const (
	// probeTimeout bounds the probes. A server that needs longer to reply cannot
	// serve a burst.
	probeTimeout = time.Second
	// neverSlow keeps runs apart: of the probes, no older result must be logged after a newer one.
	neverSlow = math.MaxInt64
)

// livez reports that the process serves HTTP. It probes no server, because a
// restart of the process would not bring one back.
func (a *API) livez(w http.ResponseWriter, _ *http.Request) {
	writeJSON(w, http.StatusOK, map[string]string{"status": "ok"})
}

// readyz reports whether a load balancer should send requests to this instance.
func (a *API) readyz(w http.ResponseWriter, r *http.Request) {
	checks, ready := a.check(r.Context())
	status := http.StatusOK
	if !ready {
		status = http.StatusServiceUnavailable
	}
	writeJSON(w, status, map[string]any{"ready": ready, "checks": checks})
}

// Ready reports whether /readyz replies 200.
func (a *API) Ready(ctx context.Context) bool {
	_, ready := a.check(ctx)
	return ready
}

// check returns the results of all probes by name, and whether the instance is
// ready.
func (a *API) check(ctx context.Context) (checks map[string]string, ready bool) {
	checks, ready = a.probe(ctx)
	if a.draining.Load() {
		checks["service"], ready = "draining", false
	}
	return checks, ready
}

// probe returns the results of a run of all probes that begins after the call, by name, or ok
// false when ctx ends.
func (a *API) probe(ctx context.Context) (checks map[string]string, ok bool) {
	errs, err := a.probes.Read(ctx, struct{}{}, struct{}{})
	checks, ok = map[string]string{}, err == nil
	for i, failure := range errs {
		checks[a.cfg.Probes[i].Name] = "ok"
		if failure != nil {
			checks[a.cfg.Probes[i].Name], ok = "unavailable", false
		}
	}
	return checks, ok
}

// runProbes runs all probes at once. It logs their errors, which no response has: /readyz is
// open to strangers. Callers share runs by a.probes: while a server is silent, each run takes
// probeTimeout, and requests would queue up.
func (a *API) runProbes(ctx context.Context, _ struct{}, _ []struct{}) ([]error, error) {
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	errs := make([]error, len(a.cfg.Probes))
	var wg sync.WaitGroup
	for i, p := range a.cfg.Probes {
		wg.Go(func() { errs[i] = p.Check(ctx) })
	}
	wg.Wait()
	for i, p := range a.cfg.Probes {
		a.logProbe(p.Name, errs[i])
	}
	return errs, nil
}

// logProbe logs the result of a probe if its last result, or its cause, was another.
func (a *API) logProbe(name string, err error) {
	if err == nil {
		if _, failed := a.failing.LoadAndDelete(name); failed {
			a.cfg.Log.Info("dependency available", "dependency", name)
		}
		return
	}
	cause := connect.Cause(err)
	if before, failed := a.failing.Swap(name, cause); !failed || before != cause {
		a.cfg.Log.Warn("dependency unavailable", "dependency", name, "error", err.Error())
	}
}

func (a *API) isUp(probe string) bool {
	_, failed := a.failing.Load(probe)
	return !failed
}

func writeJSON(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	b, _ := encode(v)
	_, _ = w.Write(b)
}
