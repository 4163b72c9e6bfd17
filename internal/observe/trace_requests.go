package observe

import (
	"context"
	"log/slog"
	"net/http"
	"slices"
	"strings"

	"github.com/go-chi/chi/v5"
	"go.opentelemetry.io/contrib/instrumentation/net/http/otelhttp"
	"go.opentelemetry.io/otel/propagation"
	semconv "go.opentelemetry.io/otel/semconv/v1.37.0"
	"go.opentelemetry.io/otel/trace"
)

// TraceHeader is the response header that names the trace.
const TraceHeader = "X-Trace-Id"

// untraced are requested by machines, all the time.
var untraced = []string{"/livez", "/readyz", "/metrics"}

// TraceRequests returns a middleware of chi that starts the span of a request, and tells the
// client its trace. It continues the client's, if the header traceparent names one.
func TraceRequests(provider trace.TracerProvider) func(http.Handler) http.Handler {
	if provider == nil {
		return func(next http.Handler) http.Handler { return next }
	}
	return func(next http.Handler) http.Handler {
		return otelhttp.NewHandler(withTrace(next), "request",
			otelhttp.WithTracerProvider(provider),
			otelhttp.WithPropagators(propagation.TraceContext{}),
			otelhttp.WithFilter(func(r *http.Request) bool { return !slices.Contains(untraced, r.URL.Path) }),
			otelhttp.WithSpanNameFormatter(func(_ string, r *http.Request) string {
				return strings.TrimSpace(r.Method + " " + chi.RouteContext(r.Context()).RoutePattern())
			}),
		)
	}
}

// withTrace tells the client the trace, and the span its route, which chi knows at the end.
func withTrace(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		span := trace.SpanFromContext(r.Context())
		if span.SpanContext().IsValid() {
			w.Header().Set(TraceHeader, span.SpanContext().TraceID().String())
		}
		defer func() {
			if pattern := chi.RouteContext(r.Context()).RoutePattern(); pattern != "" {
				span.SetAttributes(semconv.HTTPRoute(pattern))
			}
		}()
		next.ServeHTTP(w, r)
	})
}

// A LogHandler adds the trace of the context to log entries.
type LogHandler struct{ slog.Handler }

// Handle implements slog.Handler.
func (h LogHandler) Handle(ctx context.Context, r slog.Record) error {
	if span := trace.SpanContextFromContext(ctx); span.IsValid() {
		r.AddAttrs(slog.String("trace_id", span.TraceID().String()), slog.String("span_id", span.SpanID().String()))
	}
	return h.Handler.Handle(ctx, r)
}

// WithAttrs implements slog.Handler.
func (h LogHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return LogHandler{h.Handler.WithAttrs(attrs)}
}

// WithGroup implements slog.Handler.
func (h LogHandler) WithGroup(name string) slog.Handler { return LogHandler{h.Handler.WithGroup(name)} }
