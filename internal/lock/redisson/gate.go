package redisson

import (
	"context"
	"sync"
)

// gates let one goroutine at a time through for each name, in the order of
// arrival, so that a crowd of one process costs the server one contender.
type gates struct {
	mu sync.Mutex
	m  map[string]*gate
}

type gate struct {
	turn  chan struct{}
	users int
}

// enter waits for its turn; leave passes it on.
func (g *gates) enter(ctx context.Context, name string) (leave func(), err error) {
	at := g.join(name)
	select {
	case at.turn <- struct{}{}:
		return func() { <-at.turn; g.quit(name, at) }, nil
	case <-ctx.Done():
		g.quit(name, at)
		return nil, context.Cause(ctx)
	}
}

func (g *gates) join(name string) *gate {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.m == nil {
		g.m = make(map[string]*gate)
	}
	at := g.m[name]
	if at == nil {
		at = &gate{turn: make(chan struct{}, 1)}
		g.m[name] = at
	}
	at.users++
	return at
}

func (g *gates) quit(name string, at *gate) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if at.users--; at.users == 0 {
		delete(g.m, name)
	}
}

// A tally counts by name.
type tally struct {
	mu sync.Mutex
	m  map[string]int
}

func (t *tally) add(name string, n int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.m == nil {
		t.m = make(map[string]int)
	}
	if t.m[name] += n; t.m[name] == 0 {
		delete(t.m, name)
	}
}

func (t *tally) some(name string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.m[name] > 0
}
