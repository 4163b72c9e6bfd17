package generations

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/redis/go-redis/v9"
)

var (
	errCrashed     = errors.New("the process has crashed")
	errUnreachable = errors.New("the server is unreachable")
)

// A process is one client of the lock service with its own connections. It can
// crash between two of its commands, or pause there while other processes run. As
// a hook of its connections, it counts its commands and injects its fault.
type process struct {
	nodes     []redis.UniversalClient // one server, or the independent nodes of a RedLock
	zookeeper string                  // the address instead
	thread    int64                   // id of the main thread, 1 in every process
	sessions  []func()                // end the sessions with ZooKeeper

	timeline *timeline // nil until the process opens a mutex

	mu        sync.Mutex
	remaining int // commands until the fault
	fault     func() error
	triggered bool
	sent      int
}

// injectBefore calls fault before the nth command from now and before each
// later one, and records it once. A command for which fault returns an error is not
// sent.
func (p *process) injectBefore(n int, what string, fault func() error) {
	recorded := sync.OnceFunc(func() { p.timeline.fault(fmt.Sprintf("the process %s before command %d", what, n)) })
	p.mu.Lock()
	defer p.mu.Unlock()
	p.remaining, p.triggered = n, false
	p.fault = func() error { recorded(); return fault() }
}

// crashBefore fails the nth command from now and all later ones.
func (p *process) crashBefore(n int) {
	p.injectBefore(n, "crashes", func() error { return errCrashed })
}

// losesNext fails the next command, as if the server had not been reached.
func (p *process) losesNext() {
	failed := false
	p.injectBefore(1, "loses its request,", func() error {
		if failed {
			return nil
		}
		failed = true
		return errUnreachable
	})
}

// cutOff fails all commands from now on.
func (p *process) cutOff() {
	p.injectBefore(1, "is cut off from the server", func() error { return errUnreachable })
}

// pauseBefore runs meanwhile before the nth command from now.
func (p *process) pauseBefore(n int, meanwhile func()) {
	p.injectBefore(n, "pauses", sync.OnceValue(func() error { meanwhile(); return nil }))
}

// disarm removes the fault and reports whether it was triggered.
func (p *process) disarm() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.fault = nil
	return p.triggered
}

// commandCount returns the number of commands sent.
func (p *process) commandCount() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.sent
}

func (p *process) beforeCommand() error {
	p.mu.Lock()
	p.remaining--
	p.sent++
	fault := p.fault
	due := fault != nil && p.remaining <= 0
	p.triggered = p.triggered || due
	p.mu.Unlock()
	if !due {
		return nil
	}
	return fault()
}

// ProcessHook is part of redis.Hook.
func (p *process) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if err := p.beforeCommand(); err != nil {
			cmd.SetErr(err)
			return err
		}
		return next(ctx, cmd)
	}
}

// DialHook and ProcessPipelineHook are part of redis.Hook. They change nothing.
func (*process) DialHook(next redis.DialHook) redis.DialHook { return next }

// ProcessPipelineHook is part of redis.Hook.
func (*process) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}
