package generator

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// A Client sends requests for many goroutines, on as many connections as there are
// requests at a time.
type Client struct {
	generator *Generator
	sent      []*call // by number
	pipe      [2]int  // has a byte while calls has any
	served    chan struct{}

	mu     sync.Mutex
	calls  []*call // that are not sent yet
	closed bool
}

// A call is one Do.
type call struct {
	request []byte
	reply   chan Reply
}

// NewClient returns a client of address, an IPv4 address and a port.
func NewClient(address string, timeout time.Duration) (c *Client, err error) {
	c = &Client{served: make(chan struct{})}
	c.generator, err = New(address, timeout, func(b []byte, n int) []byte {
		return append(b, c.sent[n].request...)
	}, func(r Reply) {
		r.Text = nil
		c.sent[r.Request].reply <- r
		c.sent[r.Request] = nil
	})
	if err == nil {
		err = unix.Pipe(c.pipe[:])
	}
	if err == nil {
		err = errors.Join(c.generator.poller.add(c.pipe[0]), c.generator.poller.established(c.pipe[0]))
	}
	if err != nil {
		return nil, err
	}
	go c.serve()
	return c, nil
}

var errClientClosed = errors.New("the client is closed")

// Do sends request and returns the reply. It has an error if ctx ends before, or
// if the client is closed; the request may have been sent nevertheless.
func (c *Client) Do(ctx context.Context, request []byte) Reply {
	begin := time.Now()
	one := &call{request, make(chan Reply, 1)}
	err := errClientClosed
	if c.add(one) {
		select {
		case r := <-one.reply:
			return r
		case <-ctx.Done():
			err = ctx.Err()
		}
	}
	return Reply{Due: begin, Sent: begin, Received: time.Now(), Err: err}
}

// add passes one on to serve, unless the client is closed.
func (c *Client) add(one *call) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return false
	}
	if c.calls = append(c.calls, one); len(c.calls) == 1 {
		c.wake()
	}
	return true
}

func (c *Client) wake() { _, _ = unix.Write(c.pipe[1], []byte{0}) }

// take returns the calls that are to be sent.
func (c *Client) take() (calls []*call, closed bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if calls, c.calls = c.calls, nil; len(calls) > 0 {
		_, _ = unix.Read(c.pipe[0], make([]byte, 1))
	}
	return calls, c.closed
}

// serve sends calls until the client is closed.
func (c *Client) serve() {
	defer close(c.served)
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	for {
		calls, closed := c.take()
		for _, one := range calls {
			c.sent = append(c.sent, one)
			if !c.generator.send(time.Now()) {
				one.reply <- Reply{Received: time.Now(), Err: errTooMany}
			}
		}
		if closed {
			break
		}
		c.generator.poll(100 * time.Millisecond)
	}
	c.generator.Close()
	_ = unix.Close(c.pipe[0])
	_ = unix.Close(c.pipe[1])
}

var errTooMany = errors.New("too many connections")

// Close closes all connections. Requests without a reply get none.
func (c *Client) Close() {
	c.mu.Lock()
	if !c.closed {
		c.closed = true
		c.wake()
	}
	c.mu.Unlock()
	<-c.served
}
