package commit

import (
	"context"
	"errors"
	"slices"
	"testing"

	"go.opentelemetry.io/otel/attribute"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
)

// A transaction that has failed may have come far enough to know its winners.
func TestFailedBatchIsTracedWithoutOrders(t *testing.T) {
	t.Parallel()
	for err, want := range map[error]int{nil: 2, errors.New("COMMIT refused"): 0} {
		seen := tracetest.NewSpanRecorder()
		_, span := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(seen)).Tracer("").Start(context.Background(),
			"batch")
		b := &batch{orders: make([]*pending, 3), placed: make([]*pending, 2)}
		b.describe(span, err)
		span.End()
		attributes := seen.Ended()[0].Attributes()
		for _, a := range []attribute.KeyValue{attribute.Int("flashsale.claims", 3),
			attribute.Int("flashsale.orders", want)} {
			if !slices.Contains(attributes, a) {
				t.Errorf("%v: %v, want %v", err, attributes, a)
			}
		}
	}
}
