// Package faultproxy stands between a client and a server and does to what they say
// what networks do to it: lose it before or after it took effect, with or
// without a sign, hold it up, or cut the line.
package faultproxy

import (
	"bytes"
	"errors"
	"net"
	"sync"
	"time"
)

// A Fault is what happens to one request. A request is what the client sent at
// once, which is one command for a client that waits for its answer.
type Fault int

// The line is cut by the first two, so that the client knows that something
// happened, and stays open and silent for ever after the other two.
const (
	LoseRequest Fault = iota // the server never gets it
	LoseReply                // the server has done it
	MuteRequest              // as LoseRequest, without a sign
	MuteReply                // as LoseReply, without a sign
)

// Faults are all of them, by name.
var Faults = map[string]Fault{
	"LoseRequest": LoseRequest, "LoseReply": LoseReply, "MuteRequest": MuteRequest, "MuteReply": MuteReply,
}

// Always is a number of times that does not end.
const Always = -1

// A Proxy passes everything on until told otherwise.
type Proxy struct {
	network, target string
	listener        net.Listener

	mu    sync.Mutex
	lines map[*line]bool
	fault Fault
	match []byte
	times int
	hits  int
	delay time.Duration
}

// New listens on a free loopback port for clients of the server at target.
func New(network, target string) (*Proxy, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	p := &Proxy{network: network, target: target, listener: listener, lines: map[*line]bool{}}
	go p.accept()
	return p, nil
}

// Addr is what clients dial: host:port.
func (p *Proxy) Addr() string { return p.listener.Addr().String() }

// Inject does f to the next requests that contain match, so many times.
func (p *Proxy) Inject(f Fault, match string, times int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.fault, p.match, p.times, p.hits = f, []byte(match), times, 0
}

// Delay holds every request up by d.
func (p *Proxy) Delay(d time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.delay = d
}

// Heal ends all faults, and cuts the lines that have been made silent.
func (p *Proxy) Heal() {
	p.mu.Lock()
	p.times, p.delay = 0, 0
	p.mu.Unlock()
	p.cut(func(l *line) bool { return l.isBroken() })
}

// Cut cuts all lines; new ones may be opened.
func (p *Proxy) Cut() { p.cut(func(*line) bool { return true }) }

// Hits is how often the last injected fault has struck.
func (p *Proxy) Hits() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.hits
}

// Close ends the proxy and its lines.
func (p *Proxy) Close() error {
	err := p.listener.Close()
	p.Cut()
	return err
}

func (p *Proxy) cut(which func(*line) bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for l := range p.lines {
		if which(l) {
			l.cut()
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
			go p.connect(client)
		}
	}
}

func (p *Proxy) connect(client net.Conn) {
	server, err := net.Dial(p.network, p.target)
	if err != nil {
		_ = client.Close()
		return
	}
	l := &line{proxy: p, client: client, server: server}
	p.mu.Lock()
	p.lines[l] = true
	p.mu.Unlock()
	go l.requests()
	l.replies()
	p.mu.Lock()
	delete(p.lines, l)
	p.mu.Unlock()
}

// judge says what is to happen to a request.
func (p *Proxy) judge(request []byte) (f Fault, strikes bool, delay time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.times == 0 || !bytes.Contains(request, p.match) {
		return 0, false, p.delay
	}
	p.hits++
	if p.times > 0 {
		p.times--
	}
	return p.fault, true, p.delay
}
