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

func carry(ctx context.Context, g *grant) context.Context {
	outer, _ := ctx.Value(grantChainKey{}).(*grantChain)
	return context.WithValue(ctx, grantChainKey{}, &grantChain{g, outer})
}

// carriedGrant returns the innermost grant of key by c in ctx, or nil.
func carriedGrant(ctx context.Context, c *Client, key string) *grant {
	chain, _ := ctx.Value(grantChainKey{}).(*grantChain)
	for ; chain != nil; chain = chain.outer {
		if chain.grant.key == key && chain.grant.client == c {
			return chain.grant
		}
	}
	return nil
}

// reenter shares the grant, without a request to the server. Like Err it compares
// the clock with the deadline first.
func (g *grant) reenter(ctx context.Context, o Options) (*Lock, error) {
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
	return &Lock{grant: g, parent: ctx}, nil
}
