package httpapi

import (
	"net/http"
	"strings"

	"github.com/go-chi/cors"

	"example.com/flashsale/internal/observe"
)

// crossOrigin returns a middleware that lets pages of the origins (* for all) send
// requests and read the responses; without origins, one that does nothing. It
// replies to preflights. Credentials are never allowed: a token is in a header that
// the page itself sets.
func crossOrigin(origins []string) func(http.Handler) http.Handler {
	if len(origins) == 0 {
		return func(next http.Handler) http.Handler { return next }
	}
	shared := cors.Handler(cors.Options{
		AllowedOrigins: origins,
		AllowedMethods: []string{"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"},
		AllowedHeaders: []string{"Authorization", "Content-Type", keyHeader},
		ExposedHeaders: []string{"Location", "Retry-After", "X-Instance", observe.TraceHeader},
		MaxAge:         600,
	})
	return func(next http.Handler) http.Handler {
		handler := shared(next)
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if isOwn(r.URL.Path) {
				next.ServeHTTP(w, r)
				return
			}
			handler.ServeHTTP(w, r)
		})
	}
}

// isOwn reports whether a path is for no other origin: the metrics, which no token
// protects, and the files that proxies cache without regard to the origin.
func isOwn(path string) bool { return path == "/metrics" || strings.HasPrefix(path, "/docs") }
