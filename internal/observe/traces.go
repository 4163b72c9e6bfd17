package observe

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"log/slog"
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
	"golang.org/x/time/rate"

	"example.com/flashsale/internal/observe/tracing"
)

// Traces are where the spans of an instance go. What it does not say (sampler, headers,
// certificates, queue), OpenTelemetry's SDK reads from the standard variables.
type Traces struct {
	Instance string
	GRPC     bool
	URL      string // of the receiver; the SDK's default if empty
}

// failureInterval is the least time between two log entries of spans that could not be sent:
// while the receiver is away, none can.
const failureInterval = 10 * time.Second

// Open returns a provider that sends spans, and a function that sends those that are queued and
// ends it. It connects when it first sends.
func (t Traces) Open(log *slog.Logger) (provider trace.TracerProvider, shutDown func(), err error) {
	ctx := context.Background()
	exporter, err := t.exporter(ctx)
	if err != nil {
		return nil, nil, err
	}
	origin, err := resource.New(ctx, resource.WithTelemetrySDK(), resource.WithAttributes(
		attribute.String("service.name", "flashsale"), attribute.String("service.instance.id", t.Instance)),
		resource.WithFromEnv())
	if err != nil {
		return nil, nil, err
	}
	failing := rate.Sometimes{Interval: failureInterval}
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) {
		failing.Do(func() { log.Warn("traces", "error", err.Error()) })
	}))
	sdk := sdktrace.NewTracerProvider(sdktrace.WithBatcher(exporter), sdktrace.WithResource(origin),
		sdktrace.WithRawSpanLimits(spanLimits()))
	return sdk, func() {
		ctx, cancel := context.WithTimeout(ctx, 3*time.Second)
		defer cancel()
		if err := sdk.Shutdown(ctx); err != nil {
			log.Warn("traces", "error", err.Error())
		}
	}, nil
}

func (t Traces) exporter(ctx context.Context) (*otlptrace.Exporter, error) {
	switch {
	case t.GRPC && t.URL != "":
		return otlptracegrpc.New(ctx, otlptracegrpc.WithEndpointURL(t.URL))
	case t.GRPC:
		return otlptracegrpc.New(ctx)
	case t.URL != "":
		return otlptracehttp.New(ctx, otlptracehttp.WithEndpointURL(t.URL))
	}
	return otlptracehttp.New(ctx)
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

// TraceMySQL returns a function that opens a pool whose statements are traced, without
// their arguments, within the traces of requests. With a nil provider nothing is traced, here and below.
func TraceMySQL(provider trace.TracerProvider) func(driver.Connector) *sql.DB {
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

// TraceRedis traces the commands of rdb, without their arguments, within the
// traces of requests.
func TraceRedis(rdb redis.UniversalClient, provider trace.TracerProvider) error {
	if provider == nil {
		return nil
	}
	return redisotel.InstrumentTracing(rdb, redisotel.WithTracerProvider(tracing.OnlyWithin(provider)),
		redisotel.WithDBStatement(false), redisotel.WithCallerEnabled(false))
}
