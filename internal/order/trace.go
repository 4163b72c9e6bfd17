package order

import (
	"context"
	"errors"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"example.com/flashsale/internal/lock"
	"example.com/flashsale/internal/observe/tracing"
)

// A claim is traced in these steps: coupon, precheck, slot, lock (from the request
// until the release), and within the lock id and commit. A claim that finds its
// segment empty repeats the last three. The transaction is the span batch, which
// its claims share.

// step does one of these steps.
func (c *Claims) step(ctx context.Context, name string, do func(context.Context) error) error {
	ctx, span := c.cfg.Tracer.Start(ctx, name)
	err := do(ctx)
	endStep(span, err)
	return err
}

// endStep ends the span of a step. A verdict is an attribute, because it is no
// failure of the step.
func endStep(span trace.Span, err error) {
	if span.IsRecording() && (isVerdict(err) || errors.Is(err, lock.ErrLocked)) {
		span.SetAttributes(attribute.String("flashsale.verdict", err.Error()))
		err = nil
	}
	tracing.End(span, err)
}
