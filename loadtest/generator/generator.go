// Package generator sends HTTP/1.1 requests as the clients of a sale do: all at
// one moment, in a closed model, or in an open one. One goroutine serves all
// connections: with a goroutine for each, the generator would be the first to be
// overloaded. A reply has the time at which it arrived at the socket, because the
// generator shares the cores with the servers and may read it later.
package generator

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"runtime"
	"time"

	"golang.org/x/sys/unix"
)

// A Generator sends requests to one address. It is used by one goroutine, which
// also calls the functions that New is given.
type Generator struct {
	to       unix.SockaddrInet4
	timeout  time.Duration
	request  func(b []byte, n int) []byte
	received func(Reply)

	poller      poller
	connections map[int]*connection // by file descriptor
	idle        []*connection       // the one that was used last is used next
	busy        int                 // connections that have a request
	opening     int                 // connections that are not open yet
	opened      int
	next        int       // request
	expired     time.Time // when timeouts were looked for
	buffer      []byte
}

// MaxConnections is how many connections a generator opens. A process may be
// limited to 20,000 open files.
const MaxConnections = 18_000

// New returns a generator without connections. address is an IPv4 address and a
// port. request appends the n-th request, from 0, to b; it is called when the
// request is sent, or when a connection for it is opened. received is called once
// for each request that was sent: without a reply within timeout it has an error.
func New(
	address string, timeout time.Duration, request func(b []byte, n int) []byte, received func(Reply),
) (*Generator, error) {
	to, err := netip.ParseAddrPort(address)
	if err != nil {
		return nil, err
	}
	if !to.Addr().Is4() {
		return nil, &net.AddrError{Err: "not an IPv4 address", Addr: address}
	}
	p, err := newPoller()
	return &Generator{
		to: unix.SockaddrInet4{Port: int(to.Port()), Addr: to.Addr().As4()}, timeout: timeout, request: request,
		received: received,
		poller:   p, connections: map[int]*connection{}, buffer: make([]byte, 64<<10),
	}, err
}

// maxOpening is how many connections Connect opens at a time.
const maxOpening = 64

// Connect opens n connections and returns when all are open, or none has been opened for the timeout of a reply.
func (g *Generator) Connect(ctx context.Context, n int) error {
	before, open, last := g.opened, 0, time.Now()
	for (g.opened < before+n || g.opening > 0) && time.Since(last) < g.timeout {
		if now := len(g.connections) - g.opening; now != open {
			open, last = now, time.Now()
		}
		for g.opened < before+n && g.opening < maxOpening {
			if _, err := g.dial(); err != nil {
				return err
			}
		}
		g.poll(time.Millisecond)
		if err := ctx.Err(); err != nil {
			return err
		}
	}
	if open = len(g.connections) - g.opening; open < n {
		return fmt.Errorf("only %d of %d connections to %s were opened and stayed open", open, n,
			netip.AddrPortFrom(netip.AddrFrom4(g.to.Addr), uint16(g.to.Port)))
	}
	return nil
}

// Drain waits until no request is without a reply, or until ctx ends.
func (g *Generator) Drain(ctx context.Context) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	for g.busy > 0 && ctx.Err() == nil {
		g.poll(time.Millisecond)
	}
}

var errInterrupted = errors.New("closed before the reply")

// Close resets all connections, so that their ports are free again. Requests
// without a reply get none.
func (g *Generator) Close() {
	for _, c := range g.connections {
		c.fail(errInterrupted)
	}
	g.poller.close()
}

// poll waits until connections are ready, and serves them. A wait of less than a
// millisecond is not cut short by a reply: its time is known.
func (g *Generator) poll(wait time.Duration) {
	if wait > 0 && wait < time.Millisecond {
		sleepPrecisely(wait)
	}
	for _, fd := range g.poller.wait(int(wait.Milliseconds())) {
		if c := g.connections[fd]; c != nil {
			c.ready()
		}
	}
	if now := time.Now(); now.Sub(g.expired) >= time.Second {
		g.expired = now
		g.expire(now)
	}
}

// expire ends the requests that have waited too long.
func (g *Generator) expire(now time.Time) {
	for _, c := range g.connections {
		if c.busy && now.Sub(c.sent) >= g.timeout {
			c.fail(fmt.Errorf("no reply within %s", g.timeout))
		}
	}
}
