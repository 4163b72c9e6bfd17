package httpapi

import (
	"context"
	"net/http"
	"sync"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humachi"

	"example.com/flashsale/internal/connect"
)

// A Probe checks one thing that the service needs, such as a server. Check returns an
// error if it is unavailable.
type Probe struct {
	Name  string
	Check func(context.Context) error
}

// probeTimeout bounds the probes. A server that needs longer to reply cannot
// serve a burst.
const probeTimeout = time.Second

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

// probe runs all probes at once and returns their results by name. The errors
// are logged but left out, because /readyz is open to strangers.
func (a *API) probe(ctx context.Context) (checks map[string]string, ok bool) {
	a.probing.Lock() // else an older result might be logged after a newer one
	defer a.probing.Unlock()
	limited, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	errs := make([]error, len(a.cfg.Probes))
	var wg sync.WaitGroup
	for i, p := range a.cfg.Probes {
		wg.Go(func() { errs[i] = p.Check(limited) })
	}
	wg.Wait()
	checks, ok = map[string]string{}, true
	for i, p := range a.cfg.Probes {
		checks[p.Name] = "ok"
		if errs[i] != nil {
			checks[p.Name], ok = "unavailable", false
		}
		if ctx.Err() == nil { // a client that has gone ends the probes
			a.logProbe(p.Name, errs[i])
		}
	}
	return checks, ok
}

const watchInterval = 500 * time.Millisecond

// Watch probes the servers until ctx ends. From the second failure in a row on, since one
// late reply may be the machine's, requests are passed on: see passOn.
func (a *API) Watch(ctx context.Context) {
	for failures := 0; ctx.Err() == nil; {
		if _, ok := a.probe(ctx); ok {
			failures = 0
		} else if failures++; failures == 1 {
			continue
		}
		a.unready.Store(failures > 0)
		select {
		case <-ctx.Done():
		case <-a.suspect:
		case <-time.After(watchInterval):
		}
	}
}

// passOn has a proxy that says that it can (deploy/nginx/nginx.conf) send a request without a
// body to another instance, while a server that this one needs is unavailable: nothing has been
// done for it here. Those with a body, which nginx could not send again, are tried nevertheless.
func (a *API) passOn(ctx huma.Context, next func(huma.Context)) {
	if !a.unready.Load() || ctx.Header("X-Pass-On") == "" {
		next(ctx)
		return
	}
	_, w := humachi.Unwrap(ctx)
	w.Header().Set("X-Accel-Redirect", "/.elsewhere")
	notTried.write(w)
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
