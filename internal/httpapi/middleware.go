package httpapi

import (
	"fmt"
	"log/slog"
	"net/http"
	"runtime/debug"
	"strings"
	"time"

	"github.com/go-chi/chi/v5"
	"github.com/go-chi/chi/v5/middleware"
)

// middleware handles what all requests have in common: it names the instance,
// bounds the body, recovers from panics, and counts responses by status.
func (a *API) middleware(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		rec := middleware.NewWrapResponseWriter(w, r.ProtoMajor)
		start := time.Now()
		w.Header().Set("X-Instance", a.cfg.Instance)
		if a.draining.Load() {
			w.Header().Set("Connection", "close")
		}
		defer func() {
			if p := recover(); p != nil {
				a.recoverPanic(rec, r, p)
			}
			pattern := chi.RouteContext(r.Context()).RoutePattern()
			a.metrics.request(r.Method, pattern, rec.Status())
			if a.cfg.Log.Enabled(r.Context(), slog.LevelDebug) {
				a.cfg.Log.DebugContext(r.Context(), "request", "method", r.Method, "route", pattern, "status", rec.Status(), "took", time.Since(start))
			}
		}()
		if r.ContentLength > maxBody {
			tooLarge.write(rec)
			return
		}
		if r.ContentLength < 0 { // chunked, of unknown length
			r.Body = http.MaxBytesReader(rec, r.Body, maxBody+1)
		}
		next.ServeHTTP(rec, r)
	})
}

// recoverPanic logs a panic and replies with a 500. It repeats the panic that
// net/http reserves for aborting a response.
func (a *API) recoverPanic(w middleware.WrapResponseWriter, r *http.Request, p any) {
	if p == http.ErrAbortHandler { //nolint:errorlint // net/http compares the value too
		panic(p)
	}
	a.cfg.Log.ErrorContext(r.Context(), "panic", "route", chi.RouteContext(r.Context()).RoutePattern(),
		"panic", fmt.Sprint(p), "stack", string(debug.Stack()))
	if w.Status() == 0 {
		internal.write(w)
	}
}

// methodNotAllowed returns the handler of requests whose path exists for other
// methods, which it lists in the header Allow.
func (a *API) methodNotAllowed(routes chi.Routes) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		var allowed []string
		if routes.Match(chi.NewRouteContext(), "GET", r.URL.Path) {
			allowed = append(allowed, "GET", "HEAD")
		}
		if routes.Match(chi.NewRouteContext(), "POST", r.URL.Path) {
			allowed = append(allowed, "POST")
		}
		w.Header().Set("Allow", strings.Join(allowed, ", "))
		wrongMethod.write(w)
	}
}
