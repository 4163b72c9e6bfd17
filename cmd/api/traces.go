package main

import (
	"cmp"
	"context"
	"database/sql"
	"database/sql/driver"
	"log/slog"
	"net/url"
	"time"

	"github.com/XSAM/otelsql"
	"github.com/redis/go-redis/extra/redisotel/v9"
	"github.com/redis/go-redis/v9"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracegrpc"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"example.com/flashsale/internal/tracing"
)

// tracesOn reports whether the settings turn traces on.
func (c config) tracesOn() bool {
	switch {
	case c.OTelDisabled || c.TracesExporter == "none":
		return false
	case c.TracesExporter == "otlp":
		return true
	}
	return c.OTLPEndpoint != "" || c.OTLPTracesEndpoint != ""
}

// openTraces returns a provider that sends traces as the settings say, or nil if
// traces are off. What has no setting of its own (sampler, headers, certificates,
// queue) OpenTelemetry's SDK reads from the standard variables.
func openTraces(cfg config, log *slog.Logger, opened *closers) (trace.TracerProvider, error) {
	if !cfg.tracesOn() {
		return nil, nil //nolint:nilnil // nil is a provider that is off
	}
	exporter, err := newExporter(cfg)
	if err != nil {
		return nil, err
	}
	origin, err := resource.New(context.Background(), resource.WithTelemetrySDK(), resource.WithAttributes(
		attribute.String("service.name", "flashsale"), attribute.String("service.instance.id", cfg.Instance)),
		resource.WithFromEnv())
	if err != nil {
		return nil, err
	}
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) { log.Warn("traces", "error", err.Error()) }))
	provider := sdktrace.NewTracerProvider(sdktrace.WithBatcher(exporter), sdktrace.WithResource(origin),
		sdktrace.WithRawSpanLimits(spanLimits()))
	opened.add(func() { shutDown(provider, log) })
	return provider, nil
}

// spanLimits bounds the text of an attribute, unless the environment does: the
// INSERT of a batch is several kilobytes of placeholders.
func spanLimits() sdktrace.SpanLimits {
	limits := sdktrace.NewSpanLimits()
	if limits.AttributeValueLengthLimit < 0 {
		limits.AttributeValueLengthLimit = 1000
	}
	return limits
}

// newExporter returns an exporter that connects when it first sends.
func newExporter(cfg config) (*otlptrace.Exporter, error) {
	ctx := context.Background()
	if cfg.OTLPProtocol == "grpc" {
		var options []otlptracegrpc.Option
		if endpoint := cmp.Or(cfg.OTLPTracesEndpoint, cfg.OTLPEndpoint); endpoint != "" {
			options = append(options, otlptracegrpc.WithEndpointURL(endpoint))
		}
		return otlptracegrpc.New(ctx, options...)
	}
	var options []otlptracehttp.Option
	switch {
	case cfg.OTLPTracesEndpoint != "":
		options = append(options, otlptracehttp.WithEndpointURL(cfg.OTLPTracesEndpoint))
	case cfg.OTLPEndpoint != "":
		endpoint, err := url.JoinPath(cfg.OTLPEndpoint, "v1/traces")
		if err != nil {
			return nil, err
		}
		options = append(options, otlptracehttp.WithEndpointURL(endpoint))
	}
	return otlptracehttp.New(ctx, options...)
}

// shutDown sends the spans that are queued.
func shutDown(provider *sdktrace.TracerProvider, log *slog.Logger) {
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Second)
	defer cancel()
	if err := provider.Shutdown(ctx); err != nil {
		log.Warn("traces", "error", err.Error())
	}
}

// tracerOf returns a Tracer that is off if provider is nil.
func tracerOf(provider trace.TracerProvider) tracing.Tracer {
	if provider == nil {
		return tracing.Tracer{}
	}
	return tracing.New(provider)
}

// openTraced returns a function that opens a pool whose statements are traced, without
// their arguments, within the traces of requests.
func openTraced(provider trace.TracerProvider) func(driver.Connector) *sql.DB {
	if provider == nil {
		return sql.OpenDB
	}
	return func(c driver.Connector) *sql.DB {
		return otelsql.OpenDB(c, otelsql.WithTracerProvider(tracing.OnlyWithin(provider)),
			otelsql.WithAttributes(attribute.String("db.system.name", "mysql")),
			otelsql.WithSpanOptions(otelsql.SpanOptions{DisableErrSkip: true, OmitConnResetSession: true,
				OmitRows: true}))
	}
}

// traceRedis traces the commands of rdb, without their arguments, within the
// traces of requests.
func traceRedis(rdb redis.UniversalClient, provider trace.TracerProvider) error {
	if provider == nil {
		return nil
	}
	return redisotel.InstrumentTracing(rdb, redisotel.WithTracerProvider(tracing.OnlyWithin(provider)),
		redisotel.WithDBStatement(false), redisotel.WithCallerEnabled(false))
}

// A traceHandler adds the trace of the context to log entries.
type traceHandler struct{ slog.Handler }

// Handle implements slog.Handler.
func (h traceHandler) Handle(ctx context.Context, r slog.Record) error {
	if span := trace.SpanContextFromContext(ctx); span.IsValid() {
		r.AddAttrs(slog.String("trace_id", span.TraceID().String()), slog.String("span_id", span.SpanID().String()))
	}
	return h.Handler.Handle(ctx, r)
}

// WithAttrs implements slog.Handler.
func (h traceHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return traceHandler{h.Handler.WithAttrs(attrs)}
}

// WithGroup implements slog.Handler.
func (h traceHandler) WithGroup(name string) slog.Handler {
	return traceHandler{h.Handler.WithGroup(name)}
}
