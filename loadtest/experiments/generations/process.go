package generations

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"example.com/flashsale/internal/lock"
	"example.com/flashsale/loadtest/holder"
)

var errCrashed = errors.New("the process has crashed")

// A process is one client of the lock service with its own connections, and one thread
// that contends for the key of its scenario, and records what its lock tells it as a
// holder of package holder does. It can crash between two of its commands, or pause there
// while other processes run: as the limiter of its clients, it injects its fault before a
// command.
type process struct {
	mutex
	scenario *scenario
	key      string
	nodes    []redis.UniversalClient // one server, or the independent nodes of a RedLock

	name  string
	lines []holder.Line
	holds bool

	mu        sync.Mutex
	remaining int // commands until the fault
	injected  func() error
}

// TryLock implements mutex.
func (p *process) TryLock(ctx context.Context, ttl time.Duration) (bool, error) {
	p.write()
	ok, err := p.mutex.TryLock(ctx, ttl)
	switch {
	case err != nil:
		p.say(holder.Unknown, err.Error())
	case !ok:
		p.say(holder.Refused, "")
	default:
		p.say(holder.Acquired, "")
		p.holds = true
	}
	return ok, err
}

// Unlock implements mutex.
func (p *process) Unlock(ctx context.Context) error {
	p.write()
	err := p.mutex.Unlock(ctx)
	p.holds = false
	if err != nil {
		p.say(holder.Unknown, err.Error())
	} else {
		p.say(holder.Released, "")
	}
	return err
}

// write writes, if the process takes itself for the holder.
func (p *process) write() {
	if p.holds {
		p.say(holder.Write, "")
	}
}

func (p *process) say(word holder.Word, text string) {
	l := holder.Line{At: holder.Now(), Word: word, Text: text}
	if acquired := p.acquired(); acquired != nil {
		l.Fence = acquired.Fence()
	}
	p.lines = append(p.lines, l)
}

// acquired returns the lock that a lock.Client has acquired last, which says what the
// process knows of it. It returns nil for the articles' locks.
func (p *process) acquired() *lock.Lock {
	if m, ok := p.mutex.(*clientMutex); ok && len(m.held) > 0 {
		return m.last()
	}
	return nil
}

// injectBefore calls fault before the nth command from now and before each later one. A
// command for which fault returns an error is not sent. It returns a context that ends with
// the first of them.
func (p *process) injectBefore(n int, what string, fault func() error) context.Context {
	struck, strike := context.WithCancel(p.scenario.ctx)
	record := sync.OnceFunc(func() {
		p.scenario.fault(fmt.Sprintf("the process %s before command %d", what, n))
		strike()
	})
	p.mu.Lock()
	defer p.mu.Unlock()
	p.remaining = n
	p.injected = func() error { record(); return fault() }
	return struck
}

// crashBefore fails the nth command from now and all later ones.
func (p *process) crashBefore(n int) (crashed context.Context) {
	return p.injectBefore(n, "crashes", func() error { return errCrashed })
}

// Allow is part of redis.Limiter, which is asked before each command.
func (p *process) Allow() error {
	p.mu.Lock()
	p.remaining--
	fault := p.injected
	due := fault != nil && p.remaining <= 0
	p.mu.Unlock()
	if !due {
		return nil
	}
	return fault()
}

// ReportResult is part of redis.Limiter. Its argument is the outcome of a command.
func (*process) ReportResult(error) {}
