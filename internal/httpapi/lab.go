package httpapi

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/pprof"
	"time"

	"example.com/flashsale/internal/lock"
	"example.com/flashsale/internal/pageview"
)

// PageViews holds what the routes of the page-view counter need.
type PageViews struct {
	Counter  *pageview.Counter
	Locks    *lock.Client // the lock of version 3
	Redlock  *lock.Client // the lock of version 4; nil omits that route
	Options  lock.Options
	Instance string // the value of X-Instance
}

// WithLabRoutes returns a handler that serves api, the page-view counter, the
// critical sections of claims and Go's profiles. The profiles reveal the program's internals, and the counter
// writes for any client, so a service for customers must not serve them.
//
// The counter's routes are POST /v1/pview (no lock), /v2/pview (a mutex of this
// process), /v3/pview (the distributed lock) and /v4/pview (Redlock). Their
// parameter think is the pause between reading and writing. They reply 200 with
// the count and the wait, 409 if the fence was stale, and 503 if the view was
// not counted for another reason or the outcome is unknown.
func WithLabRoutes(api http.Handler, views PageViews, sections *Sections) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("/", api)
	mux.HandleFunc("/debug/pprof/", pprof.Index)
	mux.HandleFunc("/debug/pprof/profile", pprof.Profile)
	mux.Handle("GET /debug/sections", sections)
	mux.HandleFunc("POST /v1/pview", views.serve(views.Counter.CountUnlocked))
	mux.HandleFunc("POST /v2/pview", views.serve(views.Counter.CountWithMutex))
	mux.HandleFunc("POST /v3/pview", views.serve(views.countUnder(views.Locks)))
	if views.Redlock != nil {
		mux.HandleFunc("POST /v4/pview", views.serve(views.countUnder(views.Redlock)))
	}
	return mux
}

type countFunc func(ctx context.Context, think time.Duration) (pageview.View, error)

func (v PageViews) countUnder(locks *lock.Client) countFunc {
	return func(ctx context.Context, think time.Duration) (pageview.View, error) {
		return v.Counter.CountLocked(ctx, locks, v.Options, think)
	}
}

func (v PageViews) serve(count countFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Instance", v.Instance)
		think, _ := time.ParseDuration(r.FormValue("think"))
		view, err := count(r.Context(), think)
		writeView(w, view, err)
	}
}

func writeView(w http.ResponseWriter, v pageview.View, err error) {
	w.Header().Set("Content-Type", "application/json")
	body := map[string]any{"pview": v.Count, "wait_ms": float64(v.Wait) / float64(time.Millisecond)}
	if err != nil {
		body = map[string]any{"error": err.Error()}
		status := http.StatusServiceUnavailable
		if errors.Is(err, pageview.ErrStale) {
			status = http.StatusConflict
		}
		w.WriteHeader(status)
	}
	_ = json.NewEncoder(w).Encode(body) // fails only if the client has disconnected
}
