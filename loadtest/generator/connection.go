package generator

import (
	"errors"
	"slices"
	"time"

	"golang.org/x/sys/unix"
)

// A connection has one request at a time.
type connection struct {
	generator *Generator
	fd        int
	open      bool
	busy      bool // with the n-th request
	n         int
	due, sent time.Time
	request   []byte // reused
	partial   []byte // what has arrived of the reply; empty if it came at once
}

// dial begins to connect. It returns the connection also with an error.
func (g *Generator) dial() (*connection, error) {
	c := &connection{generator: g}
	g.opened++
	g.opening++
	var err error
	if c.fd, err = newSocket(); err != nil {
		return c, err
	}
	g.connections[c.fd] = c
	err = errors.Join(
		unix.SetsockoptInt(c.fd, unix.IPPROTO_TCP, unix.TCP_NODELAY, 1),
		unix.SetsockoptLinger(c.fd, unix.SOL_SOCKET, unix.SO_LINGER, &unix.Linger{Onoff: 1}),
		bind(c.fd, g.opened, g.to.Addr),
		g.poller.add(c.fd))
	if connecting := unix.Connect(c.fd, &g.to); !errors.Is(connecting, unix.EINPROGRESS) {
		err = errors.Join(err, connecting)
	}
	return c, err
}

// accept takes over the n-th request.
func (c *connection) accept(n int, due time.Time) {
	c.n, c.due, c.sent, c.busy = n, due, time.Now(), true
	c.request = c.generator.request(c.request[:0], n)
	c.generator.busy++
}

// write sends the request.
func (c *connection) write() {
	c.sent = time.Now()
	if _, err := unix.Write(c.fd, c.request); err != nil {
		c.fail(err)
	}
}

// ready does what the connection is ready for.
func (c *connection) ready() {
	switch {
	case !c.open:
		c.established()
	case !c.busy: // the server has closed an idle connection
		c.close()
	default:
		c.read()
	}
}

// established sends the request on a connection that is open, if it has one.
func (c *connection) established() {
	code, err := unix.GetsockoptInt(c.fd, unix.SOL_SOCKET, unix.SO_ERROR)
	if code != 0 {
		err = errors.Join(err, unix.Errno(code))
	}
	if err = errors.Join(err, c.generator.poller.established(c.fd)); err != nil {
		c.fail(err)
		return
	}
	g := c.generator
	g.opening--
	c.open = true
	if c.busy {
		c.write()
		return
	}
	g.idle = append(g.idle, c)
}

var errNoReply = errors.New("closed without a complete reply")

// read reads the reply, or a part of it.
func (c *connection) read() {
	g := c.generator
	n, arrived, err := receive(c.fd, g.buffer)
	switch {
	case errors.Is(err, unix.EAGAIN), errors.Is(err, unix.EINTR):
		return
	case err != nil || n <= 0:
		c.ended(err)
		return
	}
	text := g.buffer[:n]
	if len(c.partial) > 0 {
		c.partial = append(c.partial, text...)
		text = c.partial
	}
	r := Reply{Request: c.n, Due: c.due, Sent: c.sent, Received: arrived, Text: text}
	last, complete, err := r.parse()
	switch {
	case err != nil:
		c.fail(err)
	case complete:
		c.end(r, last)
	case len(c.partial) == 0:
		c.partial = append(c.partial, text...)
	}
}

// ended ends the request at the end of its connection, which is that of a body without
// a length.
func (c *connection) ended(err error) {
	r := Reply{Request: c.n, Due: c.due, Sent: c.sent, Received: time.Now(), Text: c.partial}
	if err == nil && len(c.partial) > 0 {
		if _, complete, _ := r.parseAny(true); complete {
			c.end(r, true)
			return
		}
	}
	c.fail(errors.Join(err, errNoReply))
}

// end ends the request. A reply may be the last of its connection.
func (c *connection) end(r Reply, last bool) {
	c.busy = false
	c.generator.busy--
	if last {
		c.close()
	} else {
		c.generator.idle = append(c.generator.idle, c)
	}
	c.generator.received(r)
	c.partial = nil // or idle connections, and closed ones that something refers to, hold gigabytes of pages
}

// fail closes the connection. Its request, if it has one, gets no reply.
func (c *connection) fail(err error) {
	if c.busy {
		c.end(Reply{Request: c.n, Due: c.due, Sent: c.sent, Received: time.Now(), Err: err}, true)
		return
	}
	c.close()
}

func (c *connection) close() {
	g := c.generator
	if !c.open {
		g.opening--
	}
	if i := slices.Index(g.idle, c); i >= 0 {
		g.idle = slices.Delete(g.idle, i, i+1)
	}
	if g.connections[c.fd] == c { // it has a socket
		delete(g.connections, c.fd)
		g.poller.remove(c.fd)
		_ = unix.Close(c.fd)
	}
}
