package lock

import (
	"context"
	"fmt"
)

// A chain is the holds that a context carries, innermost first.
type chain struct {
	hold  *hold
	outer *chain
}

type carried struct{}

func carry(ctx context.Context, h *hold) context.Context {
	outer, _ := ctx.Value(carried{}).(*chain)
	return context.WithValue(ctx, carried{}, &chain{h, outer})
}

// carriedBy is the innermost hold of this lock in ctx, or nil.
func carriedBy(ctx context.Context, l Locker, key string) *hold {
	c, _ := ctx.Value(carried{}).(*chain)
	for ; c != nil; c = c.outer {
		if c.hold.key == key && c.hold.locker == l {
			return c.hold
		}
	}
	return nil
}

// reenter joins the hold at no cost, if it is still one.
func (h *hold) reenter(ctx context.Context, o Options) (*Held, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case h.err != nil || h.entered == 0:
		return nil, fmt.Errorf("lock %s: re-enter: %w", h.key, ErrLost)
	case !o.Reentrant:
		return nil, fmt.Errorf("lock %s: %w", h.key, ErrReentry)
	}
	h.entered++
	o.observe(Event{Kind: EventReentered})
	return &Held{hold: h, parent: ctx}, nil
}
