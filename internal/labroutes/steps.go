package labroutes

import (
	"context"
	"net/http"
	"sync"
	"time"
)

// A step is a statement of a claim's transaction. Times are as in a section.
type step struct {
	SQL    string `json:"sql"`
	Begin  int64  `json:"begin"`
	End    int64  `json:"end"`
	Result string `json:"result"`          // what a query read, or how many rows were changed
	Error  string `json:"error,omitempty"` // instead of the result
}

// A namedClaim is a claim whose request has a name, and its statements so far. A
// nil *namedClaim has none.
type namedClaim struct {
	name string

	mu    sync.Mutex
	steps []step
}

type namedClaimKey struct{}

// withNamedClaims returns a handler whose requests with the header X-Lab-Claim
// collect their statements.
func withNamedClaims(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if name := r.Header.Get("X-Lab-Claim"); name != "" {
			r = r.WithContext(context.WithValue(r.Context(), namedClaimKey{}, &namedClaim{name: name}))
		}
		next.ServeHTTP(w, r)
	})
}

func claimFrom(ctx context.Context) *namedClaim {
	c, _ := ctx.Value(namedClaimKey{}).(*namedClaim) // nil without one
	return c
}

// record records a statement of ctx's claim. The statements of a shared transaction
// belong to no claim.
func record(ctx context.Context, sql string, begin time.Time, result string, err error) {
	c := claimFrom(ctx)
	if c == nil {
		return
	}
	s := step{SQL: sql, Begin: begin.UnixMicro(), End: time.Now().UnixMicro(), Result: result}
	if err != nil {
		s.Error = err.Error()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.steps = append(c.steps, s)
}

// stepsSince returns the name of c, and its statements that began at start or
// later.
func (c *namedClaim) stepsSince(start time.Time) (name string, steps []step) {
	if c == nil {
		return "", nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, s := range c.steps {
		if s.Begin >= start.UnixMicro() {
			steps = append(steps, s)
		}
	}
	return c.name, steps
}
