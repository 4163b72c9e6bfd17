package httpapi

import (
	"cmp"
	"fmt"
	"net/http"
	"runtime/debug"
	"strings"
	"time"

	"github.com/go-chi/chi/v5"
	"github.com/go-chi/chi/v5/middleware"
)

// middleware handles what all requests have in common: it names the instance,
// sets the security headers, recovers from panics, counts responses by status and
// logs a sample of them.
func (a *API) middleware(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		rec := middleware.NewWrapResponseWriter(w, r.ProtoMajor)
		start := time.Now()
		a.setHeaders(w.Header())
		if a.draining.Load() {
			w.Header().Set("Connection", "close")
		}
		defer func() {
			if p := recover(); p != nil {
				a.recoverPanic(rec, r, p)
			}
			status := cmp.Or(rec.Status(), http.StatusOK) // net/http's default
			a.metrics.Served(r.Method, chi.RouteContext(r.Context()).RoutePattern(), status)
			if a.sampled() {
				a.logRequest(r, status, rec.BytesWritten(), time.Since(start))
			}
		}()
		next.ServeHTTP(rec, r)
	})
}

// setHeaders sets the headers of all responses.
func (a *API) setHeaders(h http.Header) {
	h.Set("X-Instance", a.cfg.Instance)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Cache-Control", "no-store")
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
// methods, which it lists in the header Allow. chi calls it for unknown methods of any path.
func (a *API) methodNotAllowed(routes chi.Routes) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		var allowed []string
		path := cmp.Or(r.URL.RawPath, r.URL.Path) // as chi routes
		if routes.Match(chi.NewRouteContext(), "GET", path) {
			allowed = append(allowed, "GET", "HEAD")
		}
		for _, method := range []string{"POST", "PATCH", "PUT", "DELETE"} {
			if routes.Match(chi.NewRouteContext(), method, path) {
				allowed = append(allowed, method)
			}
		}
		if len(allowed) == 0 {
			noRoute.write(w)
			return
		}
		w.Header().Set("Allow", strings.Join(allowed, ", "))
		wrongMethod.write(w)
	}
}
