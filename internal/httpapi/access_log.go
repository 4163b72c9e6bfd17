package httpapi

import (
	"log/slog"
	"math/rand/v2"
	"net/http"
	"time"

	"github.com/go-chi/chi/v5"
	"github.com/go-chi/chi/v5/middleware"
)

// sampled reports whether to log a request.
func (a *API) sampled() bool {
	return a.cfg.AccessLog > 0 && rand.Float64() < a.cfg.AccessLog //nolint:gosec // it only chooses what is logged
}

// logRequest logs a request that was served. It leaves out the query and all
// headers that could hold a token.
func (a *API) logRequest(r *http.Request, status, bytes int, took time.Duration) {
	log := func(_ http.ResponseWriter, r *http.Request) {
		a.cfg.Log.LogAttrs(r.Context(), slog.LevelInfo, "request",
			slog.String("method", r.Method), slog.String("path", r.URL.Path),
			slog.String("route", chi.RouteContext(r.Context()).RoutePattern()),
			slog.Int("status", status), slog.Int("bytes", bytes), slog.Float64("seconds", took.Seconds()),
			slog.String("client", middleware.GetClientIP(r.Context())),
			slog.String("request_id", r.Header.Get("X-Request-Id")))
	}
	a.clientIP(http.HandlerFunc(log)).ServeHTTP(nil, r)
}
