package zklock

import (
	"encoding/binary"
	"net"
	"sync"
	"time"
)

// A connection is one connection of the ZooKeeper client. It sees what the
// client does not tell: which timeout the server grants to the session, and
// when a request was sent that the server has replied to.
//
// The client writes each request by one call of Write. The server replies to
// each, and sends events of watches in between.
type connection struct {
	net.Conn
	session   *session
	handshake time.Time // its deadline

	mu          sync.Mutex
	established bool        // the handshake is over
	sent        []time.Time // when each request without a reply was sent

	settled bool // Read has paused

	header []byte // of the packet that is being read
	unread int    // bytes of the packet after its header
}

const (
	// headerSize covers a packet's length, the id of the request that it
	// replies to, and four more bytes: in the reply to the handshake these are
	// the session timeout in milliseconds.
	headerSize   = 12
	watchEventID = 0xffffffff
)

// dial opens a connection. A server that does not reply to the handshake in
// time is left for the next one; the client alone would wait for many times
// the session timeout. The pause after a failure limits how often the client
// tries while all servers are down.
func (s *session) dial(network, address string, timeout time.Duration) (net.Conn, error) {
	conn, err := net.DialTimeout(network, address, min(timeout, s.grantedTimeout()/4))
	if err != nil {
		time.Sleep(min(s.grantedTimeout()/60, time.Second))
		return nil, err
	}
	return &connection{Conn: conn, session: s, handshake: time.Now().Add(s.nextHandshake())}, nil
}

// Write implements net.Conn.
func (c *connection) Write(b []byte) (int, error) {
	c.mu.Lock()
	c.sent = append(c.sent, time.Now())
	c.mu.Unlock()
	return c.Conn.Write(b)
}

// settleTime is the pause between the handshake and the next reply. Meanwhile
// go-zookeeper (1.0.4) tells the server of the last change that it has seen, and sets
// its watches again. It reads that without the mutex with which replies update it: an
// earlier reply could skip a change, whose waiter would never be told.
const settleTime = 5 * time.Millisecond

// Read implements net.Conn.
func (c *connection) Read(b []byte) (int, error) {
	if c.isEstablished() && !c.settled {
		c.settled = true
		time.Sleep(settleTime)
	}
	n, err := c.Conn.Read(b)
	c.scan(b[:n])
	return n, err
}

// scan finds the headers in what the server has sent.
func (c *connection) scan(b []byte) {
	for len(b) > 0 {
		if c.unread > 0 {
			n := min(c.unread, len(b))
			b, c.unread = b[n:], c.unread-n
			continue
		}
		n := min(headerSize-len(c.header), len(b))
		c.header, b = append(c.header, b[:n]...), b[n:]
		if len(c.header) == headerSize {
			c.unread = int(binary.BigEndian.Uint32(c.header)) - (headerSize - 4)
			c.received(binary.BigEndian.Uint32(c.header[4:]), binary.BigEndian.Uint32(c.header[8:]))
			c.header = c.header[:0]
		}
	}
}

// received records a packet. The replies to pings may overtake others, so that a
// reply may belong to a later request than the oldest one, but to no earlier one.
func (c *connection) received(id, next uint32) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if first := !c.established; first {
		c.established = true
		if next == 0 {
			return // the session has expired
		}
		c.session.granted(time.Duration(next) * time.Millisecond)
	} else if id == watchEventID {
		return
	}
	if len(c.sent) > 0 {
		c.session.replied(c.sent[0])
		c.sent = c.sent[1:]
	}
}

// SetReadDeadline implements net.Conn.
func (c *connection) SetReadDeadline(t time.Time) error { return c.Conn.SetReadDeadline(c.limit(t)) }

// SetWriteDeadline implements net.Conn.
func (c *connection) SetWriteDeadline(t time.Time) error { return c.Conn.SetWriteDeadline(c.limit(t)) }

func (c *connection) limit(t time.Time) time.Time {
	if c.isEstablished() {
		return t
	}
	return c.handshake
}

func (c *connection) isEstablished() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.established
}
