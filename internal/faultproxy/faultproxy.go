// Package faultproxy is a TCP proxy that injects network faults between a
// client and a server: it loses requests and replies, delays requests, sends
// replies of its own, closes connections and partitions the network.
package faultproxy

import (
	"errors"
	"maps"
	"net"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"
)

// A Fault says what happens to one request. A request is what one read from
// the client returns. That is one command if the client waits for each reply.
type Fault struct{ request, reply fate }

// The Lose faults close the connection, so that the client gets an error. The
// Hang faults leave it open and forward nothing on it any more, so that the
// client has to time out.
var (
	LoseRequest = Fault{request: ended}   // the server does not get the request
	LoseReply   = Fault{reply: ended}     // the server gets the request, the client gets no reply
	HangRequest = Fault{request: dropped} // as LoseRequest, with the connection left open
	HangReply   = Fault{reply: dropped}   // as LoseReply, with the connection left open
)

// Faults maps the name of every Fault to the Fault.
var Faults = map[string]Fault{
	"LoseRequest": LoseRequest, "LoseReply": LoseReply, "HangRequest": HangRequest, "HangReply": HangReply,
}

// Always makes Inject apply a fault to every matching request.
const Always = -1

// A Proxy forwards all requests and replies unless a fault is injected.
type Proxy struct {
	listener net.Listener

	mu          sync.Mutex
	target      string // host:port, or the path of a Unix socket
	connections map[*connection]bool
	rules       []*rule
	injected    *rule // by Inject
	requests    int
	delay       time.Duration // of requests
	replyDelay  time.Duration
	healed      chan struct{} // closed when the partition ends; nil if there is none
}

// New listens on a free loopback port and forwards connections to the server
// at target: host:port, the path of a Unix socket, or a URL of either.
func New(target string) (*Proxy, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	p := &Proxy{target: withoutScheme(target), listener: listener, connections: map[*connection]bool{}}
	go p.accept()
	return p, nil
}

// Addr returns the host:port that clients dial.
func (p *Proxy) Addr() string { return p.listener.Addr().String() }

// Inject applies f to the next requests that contain match, at most times
// times. It replaces the fault injected before and sets Hits to zero.
func (p *Proxy) Inject(f Fault, match string, times int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.injected != nil {
		p.injected.times = 0
	}
	p.injected = p.add(match, times, true, func(c *connection) fate {
		c.strike(f)
		return undecided
	})
}

// Delay makes every request wait for d before it is forwarded.
func (p *Proxy) Delay(d time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.delay = d
}

// DelayReplies makes every reply wait for d before it is forwarded.
func (p *Proxy) DelayReplies(d time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.replyDelay = d
}

func (p *Proxy) replyDelayed() time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.replyDelay
}

// Retarget makes later connections go to the server at target. Open ones stay
// connected to the former server.
func (p *Proxy) Retarget(target string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.target = withoutScheme(target)
}

func withoutScheme(target string) string {
	if u, err := url.Parse(target); err == nil && u.Host+u.Path != "" {
		return u.Host + u.Path
	}
	return target
}

// Heal ends the injected fault, the delays and the partition, and closes the
// connections that were struck by the fault or lost packets.
func (p *Proxy) Heal() {
	p.mu.Lock()
	p.delay, p.replyDelay = 0, 0
	for _, r := range p.rules {
		if r.heals {
			r.times = 0
		}
	}
	if p.healed != nil {
		close(p.healed)
		p.healed = nil
	}
	p.mu.Unlock()
	p.closeConnections((*connection).isStruck)
}

// Disconnect closes all connections. Clients may connect again.
func (p *Proxy) Disconnect() {
	p.closeConnections(func(*connection) bool { return true })
}

// Hits returns how many requests the last injected fault has struck.
func (p *Proxy) Hits() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.injected == nil {
		return 0
	}
	return p.injected.hits
}

// countRequest counts a request, and returns how long it has to wait.
func (p *Proxy) countRequest() (delay time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.requests++
	return p.delay
}

// Requests returns how many requests clients have sent, whatever became of them.
func (p *Proxy) Requests() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.requests
}

// Close stops listening and closes all connections.
func (p *Proxy) Close() error {
	err := p.listener.Close()
	p.Heal()
	p.Disconnect()
	return err
}

// closeConnections closes those that match.
func (p *Proxy) closeConnections(matches func(*connection) bool) {
	p.mu.Lock()
	connections := slices.Collect(maps.Keys(p.connections))
	p.mu.Unlock()
	for _, c := range connections {
		if matches(c) {
			c.close()
		}
	}
}

func (p *Proxy) accept() {
	for {
		client, err := p.listener.Accept()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err == nil {
			go p.forward(client)
		}
	}
}

// forward connects client to the server and returns when the connection is
// closed.
func (p *Proxy) forward(client net.Conn) {
	p.mu.Lock()
	network, target := "tcp", p.target
	p.mu.Unlock()
	if strings.HasPrefix(target, "/") {
		network = "unix"
	}
	server, err := net.Dial(network, target)
	if err != nil {
		_ = client.Close()
		return
	}
	c := &connection{proxy: p, client: client, server: server}
	p.mu.Lock()
	p.connections[c] = true
	p.mu.Unlock()
	go c.forward(client, server, c.fateOfRequest)
	c.forward(server, client, c.fateOfReply)
	p.mu.Lock()
	delete(p.connections, c)
	p.mu.Unlock()
}
