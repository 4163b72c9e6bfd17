// Package generator sends HTTP/1.1 requests as the clients of a sale do: all at
// one moment, in a closed model, or in an open one. A request is bytes, and goes
// out on a connection of its own that may be open before, which net/http's client
// does not offer.
package generator

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
)

// A Generator sends requests to one address. Its methods are called by one goroutine.
type Generator struct {
	address  string
	timeout  time.Duration
	request  func(b []byte, n int) []byte
	received func(Reply)

	ctx      context.Context // of opening connections
	stop     context.CancelFunc
	requests sync.WaitGroup // without a reply

	mu          sync.Mutex // request and received are called while it is held
	connections map[*connection]bool
	idle        []*connection // the one that was used last is used next
	next        int           // request
	running     *running      // nil between phases
}

// MaxConnections is how many connections a generator opens. A process may be
// limited to 20,000 open files.
const MaxConnections = 18_000

// New returns a generator without connections. address is host:port. request
// appends the n-th request, from 0, to b, when it is sent or when a connection for
// it is opened. received is called once for each request that was sent: without a
// reply within timeout it has an error. These two are called one at a time, by any
// goroutine.
func New(
	address string, timeout time.Duration, request func(b []byte, n int) []byte, received func(Reply),
) *Generator {
	g := &Generator{address: address, timeout: timeout, request: request, received: received,
		connections: map[*connection]bool{}}
	g.ctx, g.stop = context.WithCancel(context.Background())
	return g
}

// maxOpening is how many connections Connect opens at a time.
const maxOpening = 64

// Connect opens n connections and returns when all are open.
func (g *Generator) Connect(ctx context.Context, n int) error {
	var group errgroup.Group
	group.SetLimit(maxOpening)
	for range n {
		if ctx.Err() != nil {
			break
		}
		g.mu.Lock()
		c := g.newConnection()
		g.mu.Unlock()
		group.Go(func() error { return c.open() })
	}
	err := group.Wait()
	if ctx.Err() != nil {
		return ctx.Err()
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if open := len(g.connections); open < n {
		return errors.Join(fmt.Errorf("only %d of %d connections to %s were opened and stayed open", open, n, g.address),
			err)
	}
	return nil
}

// Drain waits until no request is without a reply, or until ctx ends.
func (g *Generator) Drain(ctx context.Context) {
	done := make(chan struct{})
	go func() { g.requests.Wait(); close(done) }()
	select {
	case <-done:
	case <-ctx.Done():
	}
}

// Close resets all connections, so that their ports are free again. Requests
// without a reply get none.
func (g *Generator) Close() {
	g.stop()
	g.mu.Lock()
	for c := range g.connections {
		c.close()
	}
	g.mu.Unlock()
	g.requests.Wait()
}
