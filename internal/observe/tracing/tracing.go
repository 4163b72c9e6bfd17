// Package tracing starts OpenTelemetry spans, or nothing at all.
package tracing

import (
	"context"

	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"
)

// A Tracer starts the spans of this program. The zero Tracer is off: it starts
// none and allocates nothing.
type Tracer struct{ tracer trace.Tracer }

// New returns a Tracer of provider, which is off if that is nil.
func New(provider trace.TracerProvider) Tracer {
	if provider == nil {
		return Tracer{}
	}
	return Tracer{provider.Tracer("example.com/flashsale")}
}

var none trace.Span = noop.Span{}

// Start starts a span as a child of ctx's. It returns the span, and ctx with it.
func (t Tracer) Start(ctx context.Context, name string) (context.Context, trace.Span) {
	if t.tracer == nil {
		return ctx, none
	}
	return t.tracer.Start(ctx, name)
}

// StartShared starts a span of work for several callers. It is a child of the
// first caller's span that is recorded. Links lead from it to the span of every
// caller, and back. The context that it returns does not end with a caller's.
func (t Tracer) StartShared(
	name string, callers func(yield func(context.Context) bool),
) (context.Context, trace.Span) {
	if t.tracer == nil {
		return context.Background(), none
	}
	parent, links := context.Background(), []trace.Link{}
	for ctx := range callers {
		if span := trace.SpanFromContext(ctx); span.IsRecording() {
			if len(links) == 0 {
				parent = context.WithoutCancel(ctx)
			}
			links = append(links, trace.Link{SpanContext: span.SpanContext()})
		}
	}
	if len(links) == 0 {
		return parent, none
	}
	ctx, span := t.tracer.Start(parent, name, trace.WithLinks(links...))
	for caller := range callers {
		trace.SpanFromContext(caller).AddLink(trace.Link{SpanContext: span.SpanContext()})
	}
	return ctx, span
}

// End ends span. If err is not nil, it is the span's status.
func End(span trace.Span, err error) {
	if err != nil && span.IsRecording() {
		span.SetStatus(codes.Error, err.Error())
	}
	span.End()
}

// OnlyWithin returns provider, but its tracers start no span without a parent.
// It is for libraries that would begin a trace for each of their calls.
func OnlyWithin(provider trace.TracerProvider) trace.TracerProvider {
	return childProvider{TracerProvider: provider}
}

type childProvider struct{ trace.TracerProvider }

// Tracer implements trace.TracerProvider.
func (p childProvider) Tracer(name string, options ...trace.TracerOption) trace.Tracer {
	return childTracer{p.TracerProvider.Tracer(name, options...)}
}

type childTracer struct{ trace.Tracer }

// Start implements trace.Tracer.
func (t childTracer) Start(
	ctx context.Context, name string, options ...trace.SpanStartOption,
) (context.Context, trace.Span) {
	if !trace.SpanContextFromContext(ctx).IsValid() {
		return ctx, none
	}
	return t.Tracer.Start(ctx, name, options...)
}
