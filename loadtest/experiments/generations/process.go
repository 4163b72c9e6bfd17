package generations

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"example.com/flashsale/loadtest/report"
)

var errCrashed = errors.New("the process has crashed")

// A process is one client of the lock service with its own connections, and one thread
// that contends for the key of its timeline, which records its calls. It can crash between
// two of its commands, or pause there while other processes run: as the limiter of its
// clients, it injects its fault before a command.
type process struct {
	mutex
	*timeline
	scenario *scenario
	nodes    []redis.UniversalClient // one server, or the independent nodes of a RedLock

	name  string
	spans []report.Span
	holds bool
	since float64

	mu        sync.Mutex
	remaining int // commands until the fault
	injected  func() error
	triggered bool
}

// TryLock implements mutex.
func (p *process) TryLock(ctx context.Context, ttl time.Duration) (bool, error) {
	from, result := p.now(), "is refused"
	ok, err := p.mutex.TryLock(ctx, ttl)
	switch {
	case err != nil:
		result = "fails: " + err.Error()
	case ok:
		result = "succeeds"
	}
	p.add(report.Call, ": TryLock "+result, from)
	if ok && err == nil && !p.holds {
		p.holds, p.since = true, p.now()
	}
	return ok, err
}

// Unlock implements mutex.
func (p *process) Unlock(ctx context.Context) error {
	from := p.now()
	err := p.mutex.Unlock(ctx)
	p.released()
	p.add(report.Call, ": Unlock", from)
	return err
}

func (p *process) released() {
	if p.holds {
		p.add(report.Hold, " takes itself for the holder", p.since)
	}
	p.holds = false
}

func (p *process) add(kind report.Kind, what string, from float64) {
	p.spans = append(p.spans, report.Span{Name: p.name + what, Kind: kind, From: from, To: p.now()})
}

// injectBefore calls fault before the nth command from now and before each
// later one, and records it once. A command for which fault returns an error is not
// sent.
func (p *process) injectBefore(n int, what string, fault func() error) {
	recorded := sync.OnceFunc(func() { p.timeline.fault(fmt.Sprintf("the process %s before command %d", what, n)) })
	p.mu.Lock()
	defer p.mu.Unlock()
	p.remaining, p.triggered = n, false
	p.injected = func() error { recorded(); return fault() }
}

// crashBefore fails the nth command from now and all later ones. The channel is closed with
// the first.
func (p *process) crashBefore(n int) (crashed <-chan struct{}) {
	c := make(chan struct{})
	crash := sync.OnceFunc(func() { close(c) })
	p.injectBefore(n, "crashes", func() error { crash(); return errCrashed })
	return c
}

// disarm removes the fault and reports whether it was triggered.
func (p *process) disarm() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.injected = nil
	return p.triggered
}

// Allow is part of redis.Limiter, which is asked before each command.
func (p *process) Allow() error {
	p.mu.Lock()
	p.remaining--
	fault := p.injected
	due := fault != nil && p.remaining <= 0
	p.triggered = p.triggered || due
	p.mu.Unlock()
	if !due {
		return nil
	}
	return fault()
}

// ReportResult is part of redis.Limiter. Its argument is the outcome of a command.
func (*process) ReportResult(error) {}
