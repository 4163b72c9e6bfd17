package generator

import (
	"bufio"
	"net"
	"slices"
	"time"
)

// A connection has one request at a time. The generator's mutex guards it, but for what
// start uses of a connection that take has returned.
type connection struct {
	generator *Generator
	conn      *net.TCPConn // nil until it is open
	reader    *bufio.Reader

	busy      bool // with the n-th request
	n         int
	due, sent time.Time
	request   []byte
}

// take returns a connection for the next request: the one that was used last, or a
// new one if none is free, or nil if there are too many. The caller holds g.mu, and
// calls start afterwards.
func (g *Generator) take(due time.Time) *connection {
	n := g.next
	g.next++
	var c *connection
	switch last := len(g.idle) - 1; {
	case last >= 0:
		c, g.idle = g.idle[last], g.idle[:last]
	case len(g.connections) >= MaxConnections:
		return nil
	default:
		c = g.newConnection()
	}
	g.requests.Add(1)
	c.request = g.request(make([]byte, 0, 512), n) // a reply may come before Write has returned
	c.n, c.due, c.sent, c.busy = n, due, time.Now(), true
	return c
}

// newConnection returns a connection that is not open. The caller holds g.mu.
func (g *Generator) newConnection() *connection {
	c := &connection{generator: g}
	g.connections[c] = true
	return c
}

// start sends the request, if there is a connection for it.
func (c *connection) start() {
	switch {
	case c == nil:
	case c.conn == nil:
		go func() { _ = c.open() }() // the request gets the error
	default:
		c.write()
	}
}

// open opens the connection, and sends the request that it has. A goroutine reads the
// replies.
func (c *connection) open() error {
	g := c.generator
	dialer := net.Dialer{Timeout: g.timeout}
	conn, err := dialer.DialContext(g.ctx, "tcp", g.address)
	if err != nil {
		time.Sleep(time.Millisecond) // the next attempt may follow at once
		c.end(Reply{Received: time.Now(), Err: err}, true)
		return err
	}
	g.mu.Lock()
	c.conn, c.reader = conn.(*net.TCPConn), bufio.NewReaderSize(conn, 1024)
	_ = c.conn.SetLinger(0) // its port is free at once
	if g.ctx.Err() != nil {
		_ = conn.Close()
	}
	if c.sent = time.Now(); !c.busy {
		g.idle = append(g.idle, c)
	}
	busy := c.busy
	g.mu.Unlock()
	if busy {
		c.write()
	}
	go c.serve()
	return nil
}

// write sends the request. If that fails, serve ends it.
func (c *connection) write() {
	_ = c.conn.SetReadDeadline(time.Now().Add(c.generator.timeout))
	if _, err := c.conn.Write(c.request); err != nil {
		_ = c.conn.Close()
	}
}

// serve reads replies until the connection ends, which it also notices without a request.
func (c *connection) serve() {
	for last := false; !last; {
		var r Reply
		r, last = readReply(c.reader)
		c.end(r, last)
	}
}

// end ends the request, if there is one. In a closed model the next one follows. A reply
// may be the last of its connection.
func (c *connection) end(r Reply, last bool) {
	g := c.generator
	g.mu.Lock()
	busy := c.busy
	if c.busy = false; last || !busy {
		c.close()
	} else {
		_ = c.conn.SetReadDeadline(time.Time{})
		g.idle = append(g.idle, c)
	}
	var next *connection
	if busy {
		defer g.requests.Done()
		r.Request, r.Due, r.Sent = c.n, c.due, c.sent
		g.received(r)
		if g.running != nil && g.running.Rate == 0 {
			next = g.turn(time.Now())
		}
	}
	g.mu.Unlock()
	next.start()
}

// close closes the connection. The caller holds the generator's mutex.
func (c *connection) close() {
	g := c.generator
	delete(g.connections, c)
	if i := slices.Index(g.idle, c); i >= 0 {
		g.idle = slices.Delete(g.idle, i, i+1)
	}
	if c.conn != nil {
		_ = c.conn.Close()
	}
}
