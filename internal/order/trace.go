package order

import (
	"context"
	"errors"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"example.com/flashsale/internal/lock"
	"example.com/flashsale/internal/tracing"
)

// A claim is traced in these steps: coupon, gate, slot, lock (from the request
// until the release), and within the lock id and commit. A claim that finds its
// segment empty repeats the last three. The transaction is the span batch, which
// its claims share.

// endStep ends the span of a step. A verdict is an attribute, because it is no
// failure of the step.
func endStep(span trace.Span, err error) {
	if span.IsRecording() && (isVerdict(err) || errors.Is(err, lock.ErrLocked)) {
		span.SetAttributes(attribute.String("flashsale.verdict", err.Error()))
		err = nil
	}
	tracing.End(span, err)
}

// begin starts an attempt to commit b, with its deadline and its span.
func (g *groupCommit) begin(b *batch) (context.Context, context.CancelFunc, trace.Span) {
	ctx, span := context.Background(), trace.SpanFromContext(context.Background())
	if g.tracer.On() {
		ctx, span = g.tracer.StartShared("batch", b.contexts)
	}
	ctx, cancel := context.WithTimeout(ctx, batchTimeout)
	return ctx, cancel, span
}

// end ends the span of an attempt to commit b, whose result is err. An attempt
// that has failed has made no order that is known.
func (b *batch) end(span trace.Span, err error) {
	if span.IsRecording() {
		orders := len(b.won)
		if err != nil {
			orders = 0
		}
		span.SetAttributes(attribute.Int("flashsale.claims", len(b.claims)), attribute.Int("flashsale.orders", orders))
	}
	tracing.End(span, err)
}

// contexts yields the contexts of the claims.
func (b *batch) contexts(yield func(context.Context) bool) {
	for _, c := range b.claims {
		if !yield(c.ctx) {
			return
		}
	}
}
