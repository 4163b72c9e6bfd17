// Package labroutes serves what only experiments look at: a counter of page views, the
// critical sections of claims, and Go's profiles. It is used with LAB=true.
package labroutes

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

// Wrap returns a handler that serves api, the page-view counter, the critical sections
// of claims and the profiles. The section of a claim whose request has the header
// X-Lab-Claim is reported with that name and with its statements.
//
// The profiles reveal the program's internals, and the counter writes for any client,
// so a service for customers must not serve them.
//
// The counter's routes are /v0/pview (INCR), /v1/pview (no lock), /v2/pview (a mutex
// of this process), /v3/pview (the distributed lock) and /v4/pview (Redlock). They
// count by GET as well as by POST, as the articles' routes do. Their parameter think is
// the pause between reading and writing. They reply 200 with the count and the wait,
// 409 if the fence was stale, and 503 if the view was not counted for another reason or
// the outcome is unknown.
func Wrap(api http.Handler, views PageViews, sections *Sections) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("/", withNamedClaims(api))
	mux.HandleFunc("/debug/pprof/", pprof.Index)
	mux.HandleFunc("/debug/pprof/profile", pprof.Profile)
	mux.Handle("GET /debug/sections", sections)
	counts := map[string]countFunc{
		"/v0/pview": views.Counter.CountAtomically, "/v1/pview": views.Counter.CountUnlocked,
		"/v2/pview": views.Counter.CountWithMutex, "/v3/pview": views.countUnder(views.Locks),
	}
	if views.Redlock != nil {
		counts["/v4/pview"] = views.countUnder(views.Redlock)
	}
	for path, count := range counts {
		mux.HandleFunc("GET "+path, views.serve(count))
		mux.HandleFunc("POST "+path, views.serve(count))
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
