package faultproxy

import (
	"net"
	"sync"
	"time"
)

// A line is one connection of a client, and its counterpart.
type line struct {
	proxy          *Proxy
	client, server net.Conn

	mu     sync.Mutex
	broken bool
	fault  Fault
}

func (l *line) requests() {
	defer l.cut()
	buf := make([]byte, 64<<10)
	for {
		n, err := l.client.Read(buf)
		if err != nil {
			return
		}
		fault, strikes, delay := l.proxy.judge(buf[:n])
		time.Sleep(delay)
		if strikes {
			l.breakWith(fault)
		}
		switch broken, fault := l.state(); {
		case broken && fault == LoseRequest:
			return
		case broken && fault == MuteRequest:
			continue
		}
		if _, err := l.server.Write(buf[:n]); err != nil {
			return
		}
	}
}

func (l *line) replies() {
	defer l.cut()
	buf := make([]byte, 64<<10)
	for {
		n, err := l.server.Read(buf)
		if err != nil {
			return
		}
		switch broken, fault := l.state(); {
		case broken && fault == LoseReply:
			return
		case broken && fault == MuteReply:
			continue
		}
		if _, err := l.client.Write(buf[:n]); err != nil {
			return
		}
	}
}

func (l *line) breakWith(f Fault) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.broken, l.fault = true, f
}

func (l *line) state() (broken bool, f Fault) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.broken, l.fault
}

func (l *line) isBroken() bool {
	broken, _ := l.state()
	return broken
}

func (l *line) cut() {
	_ = l.client.Close()
	_ = l.server.Close()
}
