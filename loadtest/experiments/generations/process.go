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

// A process is one client of the lock service with its own connections, and one thread
// that contends for the key of its scenario, and records what its lock tells it as a
// holder of package holder does. As the limiter of its clients, it injects its fault before
// a command.
type process struct {
	mutex
	scenario *scenario
	key      string
	nodes    []redis.UniversalClient // one server, or the independent nodes of a RedLock

	name  string
	lines []holder.Line
	holds bool

	mu     sync.Mutex
	fault  fault
	left   int                // commands until the fault
	struck context.CancelFunc // nil: no fault
}

// A fault strikes a process before one of its commands.
type fault struct {
	what      string
	err       error // of the command, which is not sent
	meanwhile step  // while the process pauses
	lasts     bool  // for all later commands, too
}

var (
	crash       = fault{what: "crashes", err: errors.New("the process has crashed"), lasts: true}
	cutOff      = fault{what: "is cut off from the server", err: errors.New("the server is unreachable"), lasts: true}
	lostRequest = fault{what: "loses its request,", err: errors.New("the request is lost")}
	pause       = fault{what: "pauses", meanwhile: steps(expires, locks(b))}
)

// inject has f strike before the nth command from now. It returns a context that ends with
// that.
func (p *process) inject(f fault, n int) (struck context.Context) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.fault, p.left = f, n
	p.fault.what = fmt.Sprintf("%s before command %d", f.what, n)
	struck, p.struck = context.WithCancel(p.scenario.ctx)
	return struck
}

// Allow is part of redis.Limiter, which is asked before each command.
func (p *process) Allow() error {
	p.mu.Lock()
	p.left--
	f, left, struck := p.fault, p.left, p.struck
	p.mu.Unlock()
	switch {
	case struck == nil || left > 0 || left < 0 && !f.lasts:
		return nil
	case left == 0:
		p.scenario.happens("the process " + f.what)
		struck()
	}
	if f.meanwhile != nil {
		f.meanwhile(p.scenario)
	}
	return f.err
}

// ReportResult is part of redis.Limiter. Its argument is the outcome of a command.
func (*process) ReportResult(error) {}

// TryLock implements mutex.
func (p *process) TryLock(ctx context.Context, ttl time.Duration) (ok bool, err error) {
	p.write()
	ok, err = p.mutex.TryLock(ctx, ttl)
	if p.holds = p.holds || ok; ok {
		p.say(holder.Acquired, nil)
	} else {
		p.say(holder.Refused, err)
	}
	return ok, err
}

// Unlock implements mutex.
func (p *process) Unlock(ctx context.Context) error {
	p.write()
	err := p.mutex.Unlock(ctx)
	p.holds = false
	p.say(holder.Released, err)
	return err
}

// write writes, if the process takes itself for the holder.
func (p *process) write() {
	if p.holds {
		p.say(holder.Write, nil)
	}
}

// say records a word, or, because of err, that the outcome is unknown.
func (p *process) say(word holder.Word, err error) {
	l := holder.Line{At: holder.Now(), Word: word}
	if err != nil {
		l.Word, l.Text = holder.Unknown, err.Error()
	}
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
