package commit

import (
	"context"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"example.com/flashsale/internal/observe/tracing"
)

// beginAttempt begins an attempt to commit b: its deadline and its span, which the
// traces of all its orders share. End must be called with the result.
func (g *groupCommit) beginAttempt(b *batch) (ctx context.Context, end func(error)) {
	ctx, span := g.cfg.Tracer.StartShared("batch", b.contexts)
	ctx, cancel := context.WithTimeout(ctx, batchTimeout)
	return ctx, func(err error) {
		cancel()
		b.describe(span, err)
		tracing.End(span, err)
	}
}

// describe notes in span what an attempt with the result err has committed. One
// that has failed has placed no order that is known.
func (b *batch) describe(span trace.Span, err error) {
	if !span.IsRecording() {
		return
	}
	placed := len(b.placed)
	if err != nil {
		placed = 0
	}
	span.SetAttributes(attribute.Int("flashsale.claims", len(b.orders)), attribute.Int("flashsale.orders", placed))
}

// contexts yields the contexts of the orders' callers.
func (b *batch) contexts(yield func(context.Context) bool) {
	for _, p := range b.orders {
		if !yield(p.ctx) {
			return
		}
	}
}
