package faultproxy

import (
	"net"
	"sync"
	"time"
)

// A connection is one connection of a client and the matching one to the
// server. It is broken once a fault has struck one of its requests.
type connection struct {
	proxy          *Proxy
	client, server net.Conn

	mu     sync.Mutex
	broken bool
	fault  Fault
}

func (c *connection) forwardRequests() {
	defer c.close()
	buf := make([]byte, 64<<10)
	for {
		n, err := c.client.Read(buf)
		if err != nil {
			return
		}
		fault, struck, delay := c.proxy.faultFor(buf[:n])
		time.Sleep(delay)
		if struck {
			c.setFault(fault)
		}
		switch broken, fault := c.state(); {
		case broken && fault == LoseRequest:
			return
		case broken && fault == HangRequest:
			continue
		}
		if _, err := c.server.Write(buf[:n]); err != nil {
			return
		}
	}
}

func (c *connection) forwardReplies() {
	defer c.close()
	buf := make([]byte, 64<<10)
	for {
		n, err := c.server.Read(buf)
		if err != nil {
			return
		}
		switch broken, fault := c.state(); {
		case broken && fault == LoseReply:
			return
		case broken && fault == HangReply:
			continue
		}
		if _, err := c.client.Write(buf[:n]); err != nil {
			return
		}
	}
}

func (c *connection) setFault(f Fault) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.broken, c.fault = true, f
}

func (c *connection) state() (broken bool, f Fault) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.broken, c.fault
}

func (c *connection) isBroken() bool {
	broken, _ := c.state()
	return broken
}

func (c *connection) close() {
	_ = c.client.Close()
	_ = c.server.Close()
}
