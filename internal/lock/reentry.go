package lock

import (
	"context"
	"fmt"
)

// A grantChain is the list of the grants that a context carries, innermost
// first.
type grantChain struct {
	grant *grant
	outer *grantChain
}

type grantChainKey struct{}

// chainOf returns the grants that ctx carries; nil if there are none.
func chainOf(ctx context.Context) *grantChain {
	chain, _ := ctx.Value(grantChainKey{}).(*grantChain)
	return chain
}

// find returns the innermost grant of key by client, or nil.
func (c *grantChain) find(client *Client, key string) *grant {
	for ; c != nil; c = c.outer {
		if c.grant.key == key && c.grant.client == client {
			return c.grant
		}
	}
	return nil
}

// reenter shares the grant, without a request to the server. Like Err it compares
// the clock with the deadline first.
func (g *grant) reenter(ctx context.Context, carried *grantChain, o Options) (*Lock, error) {
	_ = g.check()
	g.mu.Lock()
	defer g.mu.Unlock()
	switch {
	case g.err != nil || g.references == 0:
		return nil, fmt.Errorf("lock %s: re-enter: %w", g.key, ErrLost)
	case !o.Reentrant:
		return nil, fmt.Errorf("lock %s: %w", g.key, ErrReentry)
	}
	g.references++
	g.client.observe(Event{Kind: EventReentered, Class: o.Class})
	return &Lock{grant: g, parent: ctx, carried: carried}, nil
}
