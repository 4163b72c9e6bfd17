package httpapi

import (
	"context"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humachi"
)

const watchInterval = 500 * time.Millisecond

// Watch probes the servers until ctx ends. From the second failure in a row on, since one
// late reply may be the machine's, requests are for other instances: see redirectUnready.
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

// redirectUnready has a proxy that says that it can (deploy/nginx/nginx.conf) send a request
// without a body to another instance, while a server that this one needs is unavailable: nothing
// has been done for it here. Those with a body, which nginx could not send again, are tried
// nevertheless.
func (a *API) redirectUnready(ctx huma.Context, next func(huma.Context)) {
	if !a.unready.Load() || ctx.Header("X-Pass-On") == "" {
		next(ctx)
		return
	}
	_, w := humachi.Unwrap(ctx)
	w.Header().Set("X-Accel-Redirect", "/.elsewhere")
	notTried.write(w)
}
