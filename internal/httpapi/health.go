package httpapi

import (
	"context"
	"net/http"
	"sync"
	"time"
)

// A Probe asks one server that the service cannot work without.
type Probe struct {
	Name string
	Ask  func(context.Context) error
}

// probeTimeout is short: a server that answers later than this is not one to
// send a crowd to.
const probeTimeout = time.Second

// livez says that the process answers, and nothing more: restarting it would
// not bring a database back.
func (a *API) livez(w http.ResponseWriter, _ *http.Request) {
	writeJSON(w, http.StatusOK, map[string]string{"status": "ok"})
}

// readyz says whether requests should be sent here.
func (a *API) readyz(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithTimeout(r.Context(), probeTimeout)
	defer cancel()
	checks, ok := a.probe(ctx)
	switch a.phase.Load() {
	case starting:
		checks["service"], ok = "starting", false
	case draining:
		checks["service"], ok = "draining", false
	}
	status := http.StatusOK
	if !ok {
		status = http.StatusServiceUnavailable
	}
	writeJSON(w, status, map[string]any{"ready": ok, "checks": checks})
}

// probe asks all servers at once. Why one is away is for the log of the
// operations that need it, not for whoever asks here.
func (a *API) probe(ctx context.Context) (map[string]string, bool) {
	var (
		wg     sync.WaitGroup
		mu     sync.Mutex
		ok     = true
		checks = map[string]string{}
	)
	for _, p := range a.Probes {
		wg.Go(func() {
			err := p.Ask(ctx)
			mu.Lock()
			defer mu.Unlock()
			checks[p.Name] = "ok"
			if err != nil {
				checks[p.Name], ok = "away", false
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
