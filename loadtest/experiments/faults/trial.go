package faults

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"example.com/flashsale/loadtest/holder"
	"example.com/flashsale/loadtest/rig"
)

// A trial is one fault at a site. The first holder acquires, the second waits, the
// fault strikes and is healed, the first releases, the second enters and releases,
// and at last the key must be free.
type trial struct {
	*site
	row  row
	key  string
	seed uint64 // of what is random
	seen seen

	healing sync.WaitGroup // of the fault that has struck
}

// seen is what a trial saw. Times are of holder.Now.
type seen struct {
	a, b       []holder.Line
	begun      time.Duration
	healed     time.Duration // 0 without a fault, and if it lasted throughout
	released   time.Duration // when the first holder was told to release; 0 if it was not
	waited     time.Duration // when the second was told to acquire
	others     holder.Line   // the second's answer to its release
	freed      time.Duration // when the second was told to acquire again
	leak       time.Duration // how long that took
	leaks      bool          // it did not succeed
	misconduct error
	strikes    []strike
	keptOut    bool // the first holder never held
}

const (
	firstWait = leaseTime
	// secondWait, in leases, is longer than any fault.
	waitedLeases = 6
	secondWait   = waitedLeases * leaseTime
	// answerLimit is how long after its wait a holder may take to say that it is
	// over.
	answerLimit = 2 * leaseTime
	leakWait    = 3 * leaseTime
)

// lease is what the holders ask for.
func (t *trial) lease() time.Duration { return cmp.Or(t.row.lease, leaseTime) }

// wait is how long the second holder waits.
func (t *trial) wait() time.Duration { return cmp.Or(t.row.wait, waitedLeases*t.lease()) }

func (t *trial) a() *station { return t.holders[0] }
func (t *trial) b() *station { return t.holders[1] }

func (t *trial) allNodes() []node { return t.nodes }

// struckNodes returns the server, or less than a majority of several.
func (t *trial) struckNodes() []node { return t.nodes[:min(len(t.nodes), max(1, t.minority()))] }

// run runs the trial. An error means that it could not be run.
func (t *trial) run(ctx context.Context) error {
	if err := t.prepare(ctx); err != nil {
		return fmt.Errorf("%s, %s: prepare: %w", t.name, t.row.name, err)
	}
	play := t.play
	if t.row.turns {
		play = t.playTurns
	}
	err := play(ctx)
	t.healing.Wait()
	if err != nil {
		return fmt.Errorf("%s, %s: %w", t.name, t.row.name, err)
	}
	for _, s := range t.holders {
		if fault := s.fault(); fault != nil && !s.killed {
			t.seen.misconduct = errors.Join(t.seen.misconduct, fault)
		}
	}
	t.seen.a, t.seen.b = t.a().take(), t.b().take()
	return ctx.Err()
}

// prepare makes both holders acquire and release another key, so that their
// connections are open. Each attempt has a key of its own, because a lock whose first
// connection came late may hold the first key for an attempt that nobody waits for.
func (t *trial) prepare(ctx context.Context) error {
	for i, s := range t.holders {
		waiters := 0
		if i > 0 {
			waiters = t.row.waiters
		}
		if err := s.start(t.lease(), waiters); err != nil {
			return err
		}
		end := time.Now().Add(time.Minute)
		for attempt := 0; ; attempt++ {
			from := s.said()
			s.acquire(fmt.Sprintf("%s-%d-%d", t.key, i, attempt), t.lease(), leaseTime)
			l, holds := s.acquired(from, 2*leaseTime+answerLimit)
			if holds {
				break
			}
			if !rig.Sleep(ctx, 100*time.Millisecond) || time.Now().After(end) || s.fault() != nil {
				return errors.Join(fmt.Errorf("the holder does not get a free lock: %s", l), s.fault())
			}
		}
		s.release(secondWait)
		s.take()
	}
	t.seen.begun = holder.Now()
	return nil
}

// play plays the trial.
func (t *trial) play(ctx context.Context) (err error) {
	at := func(m moment) {
		if t.row.moment == m && err == nil {
			err = t.strike(ctx)
		}
	}
	at(throughout)
	at(acquiring)
	t.a().acquire(t.key, t.lease(), firstWait)
	_, holds := t.a().acquired(0, firstWait+long+answerLimit)
	t.seen.keptOut = !holds
	rig.Sleep(ctx, leaseTime/6)
	at(holding)
	t.seen.waited = holder.Now()
	t.b().acquire(t.key, t.lease(), t.wait())
	rig.Sleep(ctx, leaseTime/6)
	at(waiting)
	t.healing.Wait()
	rig.Sleep(ctx, leaseTime/2)
	at(releasing)
	t.releaseFirst()
	t.awaitSecond(ctx)
	if t.row.moment == throughout {
		err = errors.Join(err, t.row.heal(ctx, t))
		t.seen.strikes[0].to = holder.Now()
	}
	t.awaitFree()
	return err
}

// strike strikes, and heals when the fault has lasted, unless it lasts throughout.
func (t *trial) strike(ctx context.Context) error {
	t.seen.strikes = []strike{{name: t.row.name, from: holder.Now()}}
	if err := t.row.strike(ctx, t); err != nil {
		return err
	}
	if t.row.moment == throughout {
		return nil
	}
	t.healing.Go(func() {
		time.Sleep(t.row.lasts)
		if t.row.heal != nil {
			_ = t.row.heal(context.WithoutCancel(ctx), t) // the next trial finds out
		}
		t.seen.healed = holder.Now()
		t.seen.strikes[0].to = t.seen.healed
	})
	return nil
}

func (t *trial) releaseFirst() {
	if t.seen.keptOut || t.a().killed {
		return
	}
	t.seen.released = holder.Now()
	t.a().release(leaseTime + answerLimit)
}

// awaitSecond waits until the second holder has entered or given up, lets it hold,
// and has it release.
func (t *trial) awaitSecond(ctx context.Context) {
	if _, holds := t.b().acquired(0, t.wait()+answerLimit); !holds {
		return
	}
	rig.Sleep(ctx, leaseTime/3)
	t.seen.others = t.b().release(t.wait() + answerLimit)
}

// awaitFree measures how long the key is locked though nobody holds it.
func (t *trial) awaitFree() {
	from := t.b().said()
	t.seen.freed = holder.Now()
	t.b().acquire(t.key, t.lease(), leakWait)
	_, holds := t.b().acquired(from, leakWait+answerLimit)
	t.seen.leaks, t.seen.leak = !holds, holder.Now()-t.seen.freed
	t.b().release(leaseTime)
}
