package pageview

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"time"

	"example.com/flashsale/internal/lock"
)

// Routes are what the lab asks of an instance.
type Routes struct {
	Counter  *Counter
	Locker   lock.Locker // of version 3
	Redlock  lock.Locker // of version 4; none if nil
	Options  lock.Options
	Instance string // what X-Instance says
}

// Handler serves POST /v1/pview (no lock), /v2/pview (this process's mutex),
// /v3/pview (the distributed lock) and /v4/pview (RedLock). The parameter
// think is how long to pause between reading and writing.
//
// It answers 200 with the count and the wait, 409 if the store refused a stale
// fence, and 503 if the view was not counted for another reason, or nobody can
// tell.
func (r Routes) Handler() http.Handler {
	mux := http.NewServeMux()
	handle := func(path string, view func(context.Context, time.Duration) (View, error)) {
		mux.HandleFunc("POST "+path, func(w http.ResponseWriter, req *http.Request) {
			w.Header().Set("X-Instance", r.Instance)
			think, _ := time.ParseDuration(req.FormValue("think"))
			v, err := view(req.Context(), think)
			answer(w, v, err)
		})
	}
	handle("/v1/pview", r.Counter.CountUnlocked)
	handle("/v2/pview", r.Counter.CountWithMutex)
	handle("/v3/pview", r.under(r.Locker))
	if r.Redlock != nil {
		handle("/v4/pview", r.under(r.Redlock))
	}
	return mux
}

func (r Routes) under(l lock.Locker) func(context.Context, time.Duration) (View, error) {
	return func(ctx context.Context, think time.Duration) (View, error) {
		return r.Counter.CountLocked(ctx, l, r.Options, think)
	}
}

func answer(w http.ResponseWriter, v View, err error) {
	w.Header().Set("Content-Type", "application/json")
	body := map[string]any{"pview": v.Count, "wait_ms": float64(v.Wait) / float64(time.Millisecond)}
	if err != nil {
		body = map[string]any{"error": err.Error()}
		status := http.StatusServiceUnavailable
		if errors.Is(err, ErrStale) {
			status = http.StatusConflict
		}
		w.WriteHeader(status)
	}
	_ = json.NewEncoder(w).Encode(body) // a client that is gone does not mind
}
