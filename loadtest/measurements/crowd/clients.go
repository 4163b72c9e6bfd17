package crowd

import (
	"bytes"
	"context"
	"net"
	"runtime"
	"strconv"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
)

// Clients are open connections, each with the one request that it will send.
// They are as cheap as they can be: the requests are complete before the
// connections are opened, and the replies are parsed after the last one has come.
type Clients struct {
	conns    []net.Conn
	requests [][]byte
}

// replyTimeout bounds the wait for a reply. It is above every timeout of nginx
// and of the service.
const replyTimeout = 90 * time.Second

// dialers is how many connections are being opened at a time.
const dialers = 64

// Connect opens a connection to address for each of requests.
func Connect(ctx context.Context, address string, requests [][]byte) (*Clients, error) {
	c := &Clients{make([]net.Conn, len(requests)), requests}
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(dialers)
	for i := range requests {
		group.Go(func() (err error) {
			c.conns[i], err = new(net.Dialer).DialContext(ctx, "tcp", address)
			return err
		})
	}
	if err := group.Wait(); err != nil {
		c.close()
		return nil, err
	}
	return c, nil
}

// Fire sends all requests at the moment and returns when each has its reply, or
// has failed. It closes the connections.
func (c *Clients) Fire(moment time.Time) []Reply {
	replies := make([]Reply, len(c.conns))
	var readers, writers sync.WaitGroup
	for i, conn := range c.conns {
		_ = conn.SetDeadline(moment.Add(replyTimeout))
		readers.Go(func() { replies[i] = read(conn, moment) })
	}
	time.Sleep(time.Until(moment))
	workers := runtime.GOMAXPROCS(0)
	for w := range workers {
		writers.Go(func() {
			for i := w; i < len(c.conns); i += workers {
				_, _ = c.conns[i].Write(c.requests[i]) // an error ends the read too
			}
		})
	}
	writers.Wait()
	readers.Wait()
	c.close()
	return replies
}

// close resets the connections, so that their ports are free for the next crowd.
func (c *Clients) close() {
	for _, conn := range c.conns {
		if conn, ok := conn.(*net.TCPConn); ok {
			_ = conn.SetLinger(0)
			_ = conn.Close()
		}
	}
}

// read reads one reply.
func read(conn net.Conn, moment time.Time) Reply {
	buf := make([]byte, 2048)
	for n := 0; ; {
		more, err := conn.Read(buf[n:])
		n += more
		if err != nil || complete(buf[:n]) || n == len(buf) {
			return Reply{Took: time.Since(moment), raw: buf[:n], err: err}
		}
	}
}

var (
	endOfHeader   = []byte("\r\n\r\n")
	contentLength = []byte("Content-Length: ")
)

// complete reports whether reply has the header and all of the body.
func complete(reply []byte) bool {
	header, body, found := bytes.Cut(reply, endOfHeader)
	if !found {
		return false
	}
	_, value, found := bytes.Cut(header, contentLength)
	if !found {
		return false
	}
	value, _, _ = bytes.Cut(value, endOfHeader[:2])
	length, err := strconv.Atoi(string(value))
	return err == nil && len(body) >= length
}
