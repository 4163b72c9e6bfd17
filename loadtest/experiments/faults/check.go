package faults

import (
	"context"
	"fmt"
	"time"

	"example.com/flashsale/internal/lab"
	"example.com/flashsale/loadtest/holder"
	"example.com/flashsale/loadtest/rig"
)

// maxPause is the longest time between two writes of a holder.
const maxPause = 20*10*time.Millisecond + tolerance

// check tries the holders of c without a fault, and returns the first breach of the
// protocol.
func check(ctx context.Context, l *lab.Lab, c column, logs string) error {
	s, err := c.open(ctx, l, logs)
	if err != nil {
		return err
	}
	defer s.close()
	first, second := checked{s.holders[0], "the first holder"}, checked{s.holders[1], "the second holder"}
	for _, step := range []func() error{
		func() error { return first.acquires(leaseTime, "a free lock", holder.Acquired) },
		second.isRefused,
		func() error { return first.writesOn(ctx) },
		first.releases,
		func() error { return second.acquires(leaseTime, "a released lock", holder.Acquired) },
		second.releases,
		first.ends, second.ends,
	} {
		if err := step(); err != nil {
			return err
		}
	}
	fmt.Println("the holder keeps the protocol")
	return nil
}

// A checked is a holder that is checked.
type checked struct {
	*station
	name string
}

// breach returns an error that says what is wrong, unless the protocol itself is broken.
func (c checked) breach(format string, args ...any) error {
	if err := c.fault(); err != nil {
		return fmt.Errorf("%s: %w", c.name, err)
	}
	return fmt.Errorf(c.name+": "+format, args...)
}

func (c checked) acquires(wait time.Duration, what string, want holder.Word) error {
	from := c.said()
	c.acquire("faults-check", leaseTime, wait)
	return c.says(from, wait+answerLimit, "to acquire of "+what, want)
}

// says checks that the next answer is want.
func (c checked) says(from int, limit time.Duration, to string, want holder.Word) error {
	l, ok := c.await(from, limit, holder.Acquired, holder.Refused, holder.Released, holder.Lost, holder.Unknown)
	switch {
	case !ok || c.fault() != nil:
		return c.breach("no answer %s within %s", to, limit)
	case l.Word != want:
		return c.breach("%q is the answer %s, want %s", l, to, want)
	}
	return nil
}

// isRefused checks that a wait for a held lock lasts as long as it was told.
func (c checked) isRefused() error {
	begun := time.Now()
	if err := c.acquires(leaseTime/2, "a held lock", holder.Refused); err != nil {
		return err
	}
	if took := time.Since(begun); took < leaseTime/2-tolerance {
		return c.breach("refused after %s, want a wait of %s", took.Round(time.Millisecond), leaseTime/2)
	}
	return nil
}

// writesOn checks that the holder writes, and keeps the lock for longer than its lease.
func (c checked) writesOn(ctx context.Context) error {
	for end := time.Now().Add(2 * leaseTime); time.Now().Before(end); rig.Sleep(ctx, leaseTime/10) {
		if l, ok := c.await(c.said(), maxPause, holder.Write, holder.Lost); !ok || l.Word == holder.Lost {
			return c.breach("no write within %s while it holds; it said %q", maxPause, l)
		}
	}
	return ctx.Err()
}

// releases checks that the holder releases, and writes no more.
func (c checked) releases() error {
	from := c.said()
	c.process.command("release")
	if err := c.says(from, leaseTime, "to release", holder.Released); err != nil {
		return err
	}
	if l, ok := c.await(c.said(), maxPause, holder.Write); ok {
		return c.breach("%q after the release", l)
	}
	return nil
}

// ends checks that the holder ends with its input.
func (c checked) ends() error {
	_ = c.in.Close()
	select {
	case <-c.exited:
		return nil
	case <-time.After(leaseTime):
		return c.breach("still runs %s after the end of its input", leaseTime)
	}
}
