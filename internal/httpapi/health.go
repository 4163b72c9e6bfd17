package httpapi

import (
	"context"
	"net/http"
	"sync"
	"time"
)

// A Probe checks one server that the service needs. Check returns an error if
// the server is unavailable.
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
	ctx, cancel := context.WithTimeout(r.Context(), probeTimeout)
	defer cancel()
	checks, ready := a.probe(ctx)
	switch {
	case a.draining.Load():
		checks["service"], ready = "draining", false
	case !a.opened.Load():
		checks["service"], ready = "starting", false
	}
	status := http.StatusOK
	if !ready {
		status = http.StatusServiceUnavailable
	}
	writeJSON(w, status, map[string]any{"ready": ready, "checks": checks})
}

// probe runs all probes at once and returns their results by name. The errors
// are left out, because /readyz is open to strangers.
func (a *API) probe(ctx context.Context) (checks map[string]string, ok bool) {
	var (
		wg sync.WaitGroup
		mu sync.Mutex
	)
	checks, ok = map[string]string{}, true
	for _, p := range a.cfg.Probes {
		wg.Go(func() {
			err := p.Check(ctx)
			mu.Lock()
			defer mu.Unlock()
			checks[p.Name] = "ok"
			if err != nil {
				checks[p.Name], ok = "unavailable", false
			}
		})
	}
	wg.Wait()
	return checks, ok
}

func writeJSON(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	b, _ := encode(v)
	_, _ = w.Write(b)
}
