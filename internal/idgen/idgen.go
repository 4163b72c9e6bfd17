// Package idgen makes 64-bit order ids out of a counter in Redis:
//
//	 0 | seconds since 2026-01-01 UTC | number within the UTC day
//	63   62 ...... 31 bits ...... 32    31 ...... 32 bits ..... 0
//
// Ids are positive, rise by the second across all instances, and fit a BIGINT;
// they exceed 2^53, so JSON must carry them as strings. The seconds last until
// 2094, the numbers for 4.29 billion ids a day.
//
// What makes an id unique is Redis alone: number and second come from one
// script, so the clocks of the instances do not matter. No id is given twice
//   - by any number of instances;
//   - when Redis's clock steps back, by up to the two days that a day's counter
//     is kept: the second never falls below the last one stamped;
//   - when Redis loses its data: a new counter stamps its first block with the
//     next second, which no lost one has used. Twice within one second is too
//     often for that; so is losing the data while the clock steps back, and a
//     replica promoted within a second of writes it never saw. The table's
//     primary key is the guard behind all three.
//
// Not promised: no gaps, and no order within a second between instances.
package idgen

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"
)

var (
	// ErrExhausted says that the day's numbers or the seconds are used up.
	ErrExhausted = errors.New("idgen: exhausted")
	// ErrInvalid says that a number cannot be an id.
	ErrInvalid = errors.New("idgen: not an id")
)

// Epoch is second zero of every id.
var Epoch = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

const (
	sequenceBits = 32
	maxSequence  = 1<<sequenceBits - 1
	maxSecond    = 1<<31 - 1
	maxBlock     = 1000
	keep         = 48 * time.Hour
	day          = 24 * time.Hour
	// fresh is how long a block may be used: an id is at most this much
	// younger than the second in it.
	fresh = time.Second
)

//go:embed block.lua
var blockLua string

// A Worker gives out ids of one kind. It is safe for concurrent use.
//
// It takes numbers in blocks: of one while it is idle, of up to a thousand
// while ids are wanted quickly, so that neither round trips nor gaps pile up.
type Worker struct {
	rdb    redis.Scripter
	name   string
	script *redis.Script

	turn  chan struct{} // holds one token: a mutex that a context can leave
	block block
}

// block is a run of numbers with the second that they are stamped with; the
// zero block is empty.
type block struct {
	second    int64 // since Epoch
	next, end int64 // numbers left: next..end-1
	size      int64
	until     time.Time
}

// New returns a worker that counts in the keys icr:name:yyyy:MM:dd.
func New(rdb redis.Scripter, name string) *Worker {
	w := &Worker{rdb: rdb, name: name, script: redis.NewScript(blockLua), turn: make(chan struct{}, 1)}
	w.turn <- struct{}{}
	return w
}

// Next returns a new id. Without Redis there is none: the error is ErrExhausted
// or whatever kept Redis from answering before ctx ended.
func (w *Worker) Next(ctx context.Context) (int64, error) {
	select {
	case <-w.turn:
	case <-ctx.Done():
		return 0, fmt.Errorf("idgen: %s: %w", w.name, context.Cause(ctx))
	}
	defer func() { w.turn <- struct{}{} }()
	if b := &w.block; b.next == b.end || time.Now().After(b.until) {
		if err := w.refill(ctx); err != nil {
			return 0, fmt.Errorf("idgen: %s: %w", w.name, err)
		}
	}
	id := w.block.second<<sequenceBits | w.block.next
	w.block.next++
	return id, nil
}

// refill takes the next block: as long as what was used of the last, twice as
// long if that was all of it and within its time.
func (w *Worker) refill(ctx context.Context) error {
	asked := time.Now()
	size := w.block.size - (w.block.end - w.block.next)
	if asked.Before(w.block.until) {
		size *= 2
	}
	size = min(max(1, size), maxBlock)
	for today := asked.UTC().Truncate(day); ; {
		last, second, err := w.take(ctx, size, today)
		switch since := second - Epoch.Unix(); {
		case err != nil:
			return err
		case last < 0 || since < 0 || since > maxSecond:
			return ErrExhausted
		case last > 0:
			w.block = block{second: since, next: last - size + 1, end: last + 1, size: size, until: asked.Add(fresh)}
			return nil
		}
		today = time.Unix(second, 0).UTC().Truncate(day)
	}
}

func (w *Worker) take(ctx context.Context, size int64, today time.Time) (last, second int64, err error) {
	key := "icr:" + w.name + ":" + today.Format("2006:01:02")
	answer, err := w.script.Run(ctx, w.rdb, []string{key}, size, today.Unix(), int64(keep.Seconds())).Int64Slice()
	if err != nil {
		return 0, 0, err
	}
	return answer[0], answer[1], nil
}

// Parts is what an id says.
type Parts struct {
	Time     time.Time // when its block was taken, to the second, UTC
	Sequence int64     // its number within that UTC day
}

// Parse takes an id apart, or reports ErrInvalid.
func Parse(id int64) (Parts, error) {
	if id <= 0 || id&maxSequence == 0 {
		return Parts{}, fmt.Errorf("%w: %d", ErrInvalid, id)
	}
	return Parts{
		Time:     Epoch.Add(time.Duration(id>>sequenceBits) * time.Second),
		Sequence: id & maxSequence,
	}, nil
}
