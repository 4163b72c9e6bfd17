package commit

import (
	"context"
	"errors"
	"slices"
	"testing"

	"go.opentelemetry.io/otel/attribute"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"example.com/flashsale/internal/observe/tracing"
)

// A transaction that has failed may have come far enough to know its winners.
func TestBatchIsLinkedFromEveryClaimInItAndFailsWithoutOrders(t *testing.T) {
	t.Parallel()
	for err, placed := range map[error]int{nil: 2, errors.New("COMMIT refused"): 0} {
		seen := tracetest.NewSpanRecorder()
		tracer := tracing.New(sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(seen)))
		g, b := newGroupCommitOf(tracer), &batch{placed: make([]*pending, 2)}
		var commits []trace.Span
		for range 3 {
			ctx, span := tracer.Start(context.Background(), "commit")
			b.orders, commits = append(b.orders, &pending{ctx: ctx}), append(commits, span)
		}
		_, end := g.beginAttempt(b)
		end(err)
		batch := seen.Ended()[0]
		for _, a := range []attribute.KeyValue{attribute.Int("flashsale.claims", 3),
			attribute.Int("flashsale.orders", placed)} {
			if !slices.Contains(batch.Attributes(), a) {
				t.Errorf("%v: %v, want %v", err, batch.Attributes(), a)
			}
		}
		for i, commit := range commits {
			commit.End()
			back := seen.Ended()[1+i].Links()
			if !batch.Links()[i].SpanContext.Equal(commit.SpanContext()) || len(back) != 1 ||
				!back[0].SpanContext.Equal(batch.SpanContext()) {
				t.Errorf("claim %d is not linked: %v, %v", i, batch.Links(), back)
			}
		}
	}
}

func newGroupCommitOf(tracer tracing.Tracer) *groupCommit {
	return &groupCommit{transfers: transfers{cfg: Config{Tracer: tracer}}}
}
