package faults

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"sync"
	"time"

	"example.com/flashsale/loadtest/holder"
	"example.com/flashsale/loadtest/rig"
)

// lasting returns the rows with the time AT_RANDOM for those that are random. If there are
// others, it returns these alone.
func lasting(random string, list []row) ([]row, error) {
	if random == "" {
		return list, nil
	}
	d, err := time.ParseDuration(random)
	if err != nil || d <= 0 {
		return nil, fmt.Errorf("AT_RANDOM=%q: want a time, as in 10m", random)
	}
	list = slices.DeleteFunc(slices.Clone(list), func(r row) bool { return !r.turns })
	if len(list) == 0 {
		return nil, errors.New("AT_RANDOM and CELL: want the fault everything-at-random, or none")
	}
	for i := range list {
		list[i].lasts = d
	}
	return list, nil
}

// seedOf returns the value of SEED, or a new one, and prints it.
func seedOf(setting string) (seed uint64, err error) {
	if setting == "" {
		seed = rand.Uint64N(1_000_000)
	} else if seed, err = strconv.ParseUint(setting, 10, 64); err != nil {
		return 0, fmt.Errorf("SEED=%q: want a whole number", setting)
	}
	fmt.Printf("SEED=%d repeats what is random\n", seed)
	return seed, nil
}

// A strike is one of many faults of a trial.
type strike struct {
	name     string
	from, to time.Duration
}

// playTurns plays a trial in which both holders acquire and release in turn while one
// fault after another strikes at random. At last the key must be free.
func (t *trial) playTurns(ctx context.Context) error {
	end := time.Now().Add(t.row.lasts)
	var turns sync.WaitGroup
	for i, s := range t.holders {
		turns.Go(func() { t.takeTurns(ctx, s, rand.New(rand.NewPCG(t.seed, uint64(i)+1)), end) })
	}
	err := t.strikeAtRandom(ctx, rand.New(rand.NewPCG(t.seed, 0)), end)
	turns.Wait()
	rig.Sleep(ctx, leaseTime/2+t.returns) // until the holders have opened again what the last fault has closed
	t.awaitFree()
	return err
}

// takeTurns has a holder acquire and release until end. However late an answer is, it is
// awaited: a lock that nobody releases would look like a key without a holder.
func (t *trial) takeTurns(ctx context.Context, s *station, random *rand.Rand, end time.Time) {
	for time.Now().Before(end) && s.fault() == nil && ctx.Err() == nil {
		from, wait := s.said(), upTo(random, 2*leaseTime)
		s.acquire(t.key, t.lease(), wait)
		if _, holds := s.acquired(from, wait+startLimit); !holds {
			rig.Sleep(ctx, upTo(random, leaseTime/10))
			continue
		}
		rig.Sleep(ctx, upTo(random, leaseTime))
		s.release(startLimit)
	}
}

// strikeAtRandom strikes and heals, at either holder, until end.
func (t *trial) strikeAtRandom(ctx context.Context, random *rand.Rand, end time.Time) error {
	possible := t.healable()
	for time.Now().Before(end) && ctx.Err() == nil {
		rig.Sleep(ctx, upTo(random, leaseTime/2))
		victim := t.with(possible[random.IntN(len(possible))], random.IntN(2) == 0)
		s := strike{name: victim.row.name, from: holder.Now()}
		err := victim.row.strike(ctx, victim)
		rig.Sleep(ctx, upTo(random, victim.row.lasts))
		err = errors.Join(err, victim.row.heal(context.WithoutCancel(ctx), victim))
		s.to = holder.Now()
		t.seen.strikes = append(t.seen.strikes, s)
		if err != nil {
			return fmt.Errorf("%s: %w", s.name, err)
		}
	}
	return nil
}

// healable returns the rows whose faults can strike again and again, and after which the
// server still knows of the leases.
func (t *trial) healable() []row {
	return slices.DeleteFunc(slices.Clone(rows), func(r row) bool {
		return r.heal == nil || r.loses == forgotten || r.lease != 0 || r.absent(t.column) != ""
	})
}

// with returns a trial of r at the same site, with the holders swapped if swapped is true.
func (t *trial) with(r row, swapped bool) *trial {
	s := *t.site
	if swapped {
		s.holders[0], s.holders[1] = s.holders[1], s.holders[0]
	}
	return &trial{site: &s, row: r, key: t.key}
}

// upTo returns a random time of at most d.
func upTo(random *rand.Rand, d time.Duration) time.Duration {
	return time.Duration(random.Float64() * float64(d))
}
