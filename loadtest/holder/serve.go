package holder

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"example.com/flashsale/internal/lock"
)

// writeInterval is the time between two writes of a holder.
const writeInterval = 10 * time.Millisecond

// Acquire is how a holder written in Go takes its lock. It waits for another holder for
// at most wait, and keeps the lock until it is released or lost. Its verdicts are
// lock.ErrLocked and lock.ErrLost.
type Acquire func(ctx context.Context, key string, lease, wait time.Duration) (Held, error)

// ErrUncertain says that a library cannot be certain at the moment that it holds the
// lock. It is no loss.
var ErrUncertain = errors.New("not certain to hold")

// A Held is a lock that is held, as a *lock.Lock is.
type Held interface {
	Fence() uint64
	// Err returns nil while the lock is believed to be held, and ErrUncertain while
	// nothing may be written.
	Err() error
	// Done is closed when the loss of the lock is known. It may be nil.
	Done() <-chan struct{}
	Release(ctx context.Context) error
}

// FromClient takes locks of c.
func FromClient(c *lock.Client) Acquire {
	return func(ctx context.Context, key string, lease, wait time.Duration) (Held, error) {
		held, err := c.Acquire(ctx, key, lock.Options{TTL: lease, Wait: wait})
		if err != nil {
			return nil, err // a nil *lock.Lock would be no nil Held
		}
		return held, nil
	}
}

// Serve does what the commands of in say with a lock that take takes, and says so on out,
// until in ends.
func Serve(ctx context.Context, in io.Reader, out io.Writer, take Acquire) error {
	s := &server{take: take, out: out, stopWriting: func() {}}
	s.say(Line{Word: Ready})
	commands := bufio.NewScanner(in)
	for commands.Scan() {
		if err := s.do(ctx, strings.Fields(commands.Text())); err != nil {
			return err
		}
	}
	s.stopWriting()
	return commands.Err()
}

// A server is a holder at work. It holds one lock at most.
type server struct {
	take Acquire

	mu  sync.Mutex // of out
	out io.Writer

	held        Held
	stopWriting func() // returns when the writing has ended
}

func (s *server) say(l Line) {
	l.Text = strings.ReplaceAll(l.Text, "\n", " ")
	s.mu.Lock()
	defer s.mu.Unlock()
	l.At = Now()
	_, _ = fmt.Fprintln(s.out, l) // nobody listens any more
}

func (s *server) do(ctx context.Context, command []string) error {
	switch {
	case len(command) == 4 && command[0] == "acquire":
		lease, leaseErr := time.ParseDuration(command[2] + "ms")
		wait, waitErr := time.ParseDuration(command[3] + "ms")
		if err := errors.Join(leaseErr, waitErr); err != nil {
			return err
		}
		s.acquire(ctx, command[1], lease, wait)
	case len(command) == 1 && command[0] == "release":
		s.release(ctx)
	default:
		return fmt.Errorf("%q: want acquire KEY LEASE WAIT or release", command)
	}
	return nil
}

func (s *server) acquire(ctx context.Context, key string, lease, wait time.Duration) {
	s.stopWriting()
	held, err := s.take(ctx, key, lease, wait)
	if err != nil {
		s.say(outcome(err, Acquired))
		return
	}
	s.say(Line{Word: Acquired, Fence: held.Fence()})
	s.held = held
	var writing sync.WaitGroup
	ctx, stop := context.WithCancel(ctx)
	writing.Go(func() { s.write(ctx, held) })
	s.stopWriting = func() { stop(); writing.Wait() }
}

// write writes until the lock is lost or ctx ends.
func (s *server) write(ctx context.Context, held Held) {
	tick := time.NewTicker(writeInterval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-held.Done():
		case <-tick.C:
		}
		switch err := held.Err(); {
		case err == nil:
			s.say(Line{Word: Write, Fence: held.Fence()})
		case !errors.Is(err, ErrUncertain):
			s.say(Line{Word: Lost, Text: err.Error()})
			return
		}
	}
}

func (s *server) release(ctx context.Context) {
	s.stopWriting()
	if s.held == nil {
		s.say(Line{Word: Unknown, Text: "nothing was acquired"})
		return
	}
	s.say(outcome(s.held.Release(ctx), Released))
	s.held = nil
}

// outcome returns the word for err.
func outcome(err error, ok Word) Line {
	switch {
	case err == nil:
		return Line{Word: ok}
	case errors.Is(err, lock.ErrLocked):
		return Line{Word: Refused, Text: err.Error()}
	case errors.Is(err, lock.ErrLost):
		return Line{Word: Lost, Text: err.Error()}
	}
	return Line{Word: Unknown, Text: err.Error()}
}
