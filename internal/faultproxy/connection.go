package faultproxy

import (
	"net"
	"sync"
	"time"
)

// A connection is one connection of a client and the matching one to the
// server. It is struck once a fault has struck one of its requests, or a
// partition has dropped a packet of it.
type connection struct {
	proxy          *Proxy
	client, server net.Conn

	mu      sync.Mutex
	struck  bool
	fault   Fault
	answers [][]byte // the proxy's own, to all requests; nil while the server's are forwarded
}

// forward forwards what of says, until either side closes the connection. No partition hides
// from the other side that it has.
func (c *connection) forward(from, to net.Conn, of func(message []byte) fate) {
	defer c.close()
	defer c.proxy.awaitHeal()
	buf := make([]byte, 64<<10)
	for {
		n, err := from.Read(buf)
		if err != nil {
			return
		}
		switch of(buf[:n]) {
		case ended:
			return
		case dropped:
			continue
		}
		if _, err := to.Write(buf[:n]); err != nil {
			return
		}
	}
}

func (c *connection) fateOfRequest(request []byte) fate {
	time.Sleep(c.proxy.countRequest())
	if c.partitioned() {
		return dropped
	}
	if r := c.proxy.ruleFor(request); r != nil {
		if f := r.strike(c); f != undecided {
			return f
		}
	}
	if c.partitioned() || c.answer() {
		return dropped
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.fault.request
}

func (c *connection) fateOfReply([]byte) fate {
	time.Sleep(c.proxy.replyDelayed())
	if c.partitioned() {
		return dropped
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.answers != nil {
		return dropped
	}
	return c.fault.reply
}

// partitioned reports whether a partition drops a packet of c.
func (c *connection) partitioned() bool {
	is := c.proxy.Partitioned()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.struck = c.struck || is
	return is
}

func (c *connection) strike(f Fault) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.struck, c.fault = true, f
}

func (c *connection) isStruck() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.struck
}

// answerAll replies to a request, and from now on to all, with texts.
func (c *connection) answerAll(texts [][]byte) {
	c.mu.Lock()
	c.answers = texts
	c.mu.Unlock()
	c.answer()
}

// answer reports whether the proxy itself replies to a request.
func (c *connection) answer() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.answers == nil {
		return false
	}
	_, _ = c.client.Write(c.answers[0])
	c.answers = c.answers[min(1, len(c.answers)-1):]
	return true
}

func (c *connection) close() {
	_ = c.client.Close()
	_ = c.server.Close()
}
