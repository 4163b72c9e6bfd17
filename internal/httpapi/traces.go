package httpapi

import (
	"net/http"
	"slices"
	"strings"

	"github.com/go-chi/chi/v5"
	"go.opentelemetry.io/contrib/instrumentation/net/http/otelhttp"
	"go.opentelemetry.io/otel/propagation"
	semconv "go.opentelemetry.io/otel/semconv/v1.37.0"
	"go.opentelemetry.io/otel/trace"
)

// untraced are requested by machines, all the time.
var untraced = []string{"/livez", "/readyz", "/metrics"}

// traced starts the span of a request. It continues the trace of the client, if
// the header traceparent names one.
func (a *API) traced(next http.Handler) http.Handler {
	return otelhttp.NewHandler(next, "request",
		otelhttp.WithTracerProvider(a.cfg.Traces),
		otelhttp.WithPropagators(propagation.TraceContext{}),
		otelhttp.WithFilter(func(r *http.Request) bool { return !slices.Contains(untraced, r.URL.Path) }),
		otelhttp.WithSpanNameFormatter(func(_ string, r *http.Request) string { return spanName(r) }),
	)
}

// traceHeader is the response header that names the trace. Problem documents
// repeat it.
const traceHeader = "X-Trace-Id"

// spanName returns the method and the route, once chi knows it.
func spanName(r *http.Request) string {
	return strings.TrimSpace(r.Method + " " + chi.RouteContext(r.Context()).RoutePattern())
}

// nameSpan names the span of the request by its route, which chi knows at the
// end, and tells the client the trace.
func nameSpan(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		span := trace.SpanFromContext(r.Context())
		if span.SpanContext().IsValid() {
			w.Header().Set(traceHeader, span.SpanContext().TraceID().String())
		}
		defer func() {
			if pattern := chi.RouteContext(r.Context()).RoutePattern(); pattern != "" {
				span.SetName(spanName(r))
				span.SetAttributes(semconv.HTTPRoute(pattern))
			}
		}()
		next.ServeHTTP(w, r)
	})
}

// traced returns p with the trace that header names.
func (p *Problem) traced(header http.Header) *Problem {
	id := header.Get(traceHeader)
	if id == "" {
		return p
	}
	named := *p
	named.TraceID = id
	return &named
}
