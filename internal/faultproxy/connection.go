package faultproxy

import (
	"net"
	"sync"
	"time"
)

// A connection is one connection of a client and the matching one to the
// server. It is broken once a fault has struck one of its requests, or a
// partition has dropped a packet of it.
type connection struct {
	proxy          *Proxy
	client, server net.Conn

	mu      sync.Mutex
	broken  bool
	fault   Fault
	dropped bool
	replies *replies // the proxy's own; nil while the server's are forwarded
}

func (c *connection) forwardRequests() {
	defer c.closeAfterPartition()
	buf := make([]byte, 64<<10)
	for {
		n, err := c.client.Read(buf)
		if err != nil {
			return
		}
		fault, struck, delay := c.proxy.faultFor(buf[:n])
		time.Sleep(delay)
		c.proxy.awaitDelivery(buf[:n])
		if struck {
			c.setFault(fault)
		}
		if c.proxy.dropsRequest(buf[:n]) {
			c.setDropped()
			continue
		}
		if !c.reply(buf[:n]) {
			continue
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
	defer c.closeAfterPartition()
	buf := make([]byte, 64<<10)
	for {
		n, err := c.server.Read(buf)
		if err != nil {
			return
		}
		time.Sleep(c.proxy.replyDelayed())
		if c.proxy.Partitioned() {
			c.setDropped()
			continue
		}
		if c.replied() {
			continue
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

func (c *connection) setDropped() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.dropped = true
}

func (c *connection) isBroken() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.broken || c.dropped
}

// closeAfterPartition closes the connection when no partition hides from one
// side that the other has closed it.
func (c *connection) closeAfterPartition() {
	c.proxy.awaitHeal()
	c.close()
}

func (c *connection) close() {
	_ = c.client.Close()
	_ = c.server.Close()
}
