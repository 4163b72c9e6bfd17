package httpapi

import (
	"context"
	"net/http"
	"sync"
	"time"
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
	opened := a.opened.Load()
	checks, ready = a.probe(ctx)
	switch {
	case a.draining.Load():
		checks["service"], ready = "draining", false
	case !opened:
		checks["service"], ready = "starting", false
	}
	return checks, ready
}

// probe runs all probes at once and returns their results by name. The errors
// are logged but left out, because /readyz is open to strangers.
func (a *API) probe(ctx context.Context) (checks map[string]string, ok bool) {
	limited, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	opened := a.opened.Load() // before the probes: until then the schema may be missing
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
		if opened && ctx.Err() == nil { // a client that has gone ends the probes
			a.logProbe(p.Name, errs[i])
		}
	}
	return checks, ok
}

// logProbe logs the result of a probe if its last result was another.
func (a *API) logProbe(name string, err error) {
	if err == nil {
		if _, failed := a.failing.LoadAndDelete(name); failed {
			a.cfg.Log.Info("dependency available", "dependency", name)
		}
		return
	}
	if _, failed := a.failing.LoadOrStore(name, true); !failed {
		a.cfg.Log.Warn("dependency unavailable", "dependency", name, "error", err.Error())
	}
}

func writeJSON(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	b, _ := encode(v)
	_, _ = w.Write(b)
}
