// Package idgen makes 64-bit ids from a counter in Redis:
//
//	 0 | seconds since 2026-01-01 UTC | number within the UTC day
//	63   62 ...... 31 bits ...... 32    31 ...... 32 bits ..... 0
//
// Ids are positive, increase from second to second across all instances, and
// fit a BIGINT. They exceed 2^53, so JSON must carry them as strings. The
// seconds last until 2094. A day's counter begins above 2^31, a thousand numbers
// higher for each microsecond of its second, and again when its numbers are used
// up, which takes a billion ids.
//
// Redis alone makes ids unique: one script returns both number and second, so
// the clocks of the instances do not matter. No id is given twice
//   - by any number of instances;
//   - when Redis's clock steps back by up to two days, the lifetime of a day's
//     counter: the second never falls below the last one used;
//   - when Redis loses its data, or evicts the counter, however often, or its
//     numbers are used up: a new counter starts with the next second, and above the
//     numbers of every other counter that was lost in this second;
//   - by an instance of a version whose counters began at 1.
//
// An id may be given twice if Redis loses its data while its clock steps back, or within
// a second or two loses its last writes alone: it promotes a replica that did not receive
// them, or starts again from a file without them.
// The table's primary key guards against these cases.
//
// Ids may have gaps, and ids of one second are not ordered between instances.
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
	// ErrExhausted says that Redis's clock shows no second that an id can have.
	ErrExhausted = errors.New("idgen: exhausted")
	// ErrInvalid says that a number is not an id.
	ErrInvalid = errors.New("idgen: not an id")

	errUnexpected = errors.New("unexpected reply of block.lua")
)

// Epoch is second zero of every id.
var Epoch = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

const (
	sequenceBits = 32
	maxSequence  = 1<<sequenceBits - 1
	maxSecond    = 1<<31 - 1
	maxBlock     = 1000
	counterTTL   = 48 * time.Hour
	day          = 24 * time.Hour
	// maxDays is how many days' counters one request may try: the instance's
	// day, Redis's day, and the next if it begins meanwhile.
	maxDays = 3
	// blockTTL is how long a block may be used: the second in an id is at most
	// this much older than the id.
	blockTTL = time.Second
)

//go:embed block.lua
var blockLua string

// A Worker gives out ids of one kind. It is safe for concurrent use.
//
// It reserves numbers in blocks of up to a thousand. The size follows the
// demand: an idle worker reserves single numbers and leaves no gaps; a busy one
// needs few round trips.
type Worker struct {
	rdb    redis.Scripter
	name   string
	script *redis.Script

	mutex chan struct{} // a mutex with one token: waiting for it can be cancelled
	block block
}

// A block is a range of reserved numbers, all with the same second. The zero
// block is empty.
type block struct {
	second    int64 // since Epoch
	next, end int64 // the numbers left are next to end-1
	size      int64
	expiresAt time.Time
}

// New returns a worker whose counters are the keys name:yyyy:MM:dd.
func New(rdb redis.Scripter, name string) *Worker {
	w := &Worker{rdb: rdb, name: name, script: redis.NewScript(blockLua), mutex: make(chan struct{}, 1)}
	w.mutex <- struct{}{}
	return w
}

// Next returns a new id. It may block until ctx ends. The error is
// ErrExhausted, the cause of ctx, or Redis's error.
func (w *Worker) Next(ctx context.Context) (int64, error) {
	select {
	case <-w.mutex:
	case <-ctx.Done():
		return 0, fmt.Errorf("idgen: %s: %w", w.name, context.Cause(ctx))
	}
	defer func() { w.mutex <- struct{}{} }()
	if b := &w.block; b.next == b.end || time.Now().After(b.expiresAt) {
		if err := w.refill(ctx); err != nil {
			return 0, fmt.Errorf("idgen: %s: %w", w.name, err)
		}
	}
	id := w.block.second<<sequenceBits | w.block.next
	w.block.next++
	return id, nil
}

// refill reserves the next block. Its size is the count of numbers used of the
// last block, doubled if the last block was used up before it expired.
func (w *Worker) refill(ctx context.Context) error {
	now := time.Now() // before the request, so that blockTTL includes the round trip
	size := w.block.size - (w.block.end - w.block.next)
	if now.Before(w.block.expiresAt) {
		size *= 2
	}
	size = min(max(1, size), maxBlock)
	today := now.UTC().Truncate(day)
	for range maxDays {
		last, second, err := w.reserve(ctx, size, today)
		switch {
		case err != nil:
			return err
		case last > 0:
			w.block = block{second: second - Epoch.Unix(), next: last - size + 1, end: last + 1, size: size,
				expiresAt: now.Add(blockTTL)}
			return nil
		}
		today = time.Unix(second, 0).UTC().Truncate(day)
	}
	return errUnexpected
}

// Check does what Next asks of Redis, and takes no number: it returns the error that
// Next would.
func (w *Worker) Check(ctx context.Context) error {
	if _, _, err := w.reserve(ctx, 0, time.Now().UTC().Truncate(day)); err != nil {
		return fmt.Errorf("idgen: %w", err)
	}
	return nil
}

// reserve runs block.lua for one day.
func (w *Worker) reserve(ctx context.Context, size int64, today time.Time) (last, second int64, err error) {
	key := w.name + ":" + today.Format("2006:01:02")
	reply, err := w.script.Run(ctx, w.rdb, []string{key}, size, today.Unix(), int64(counterTTL.Seconds())).Int64Slice()
	if err != nil {
		return 0, 0, fmt.Errorf("%s: %w", key, err)
	}
	if len(reply) != 2 || reply[0] > maxSequence || reply[0] != 0 && reply[0] < size {
		return 0, 0, errUnexpected
	}
	if since := reply[1] - Epoch.Unix(); since < 0 || since > maxSecond {
		on := time.Unix(reply[1], 0).UTC().Format(time.DateOnly)
		return 0, 0, fmt.Errorf("%w, by Redis's clock on %s", ErrExhausted, on)
	}
	return reply[0], reply[1], nil
}

// Parts are the fields of an id.
type Parts struct {
	Time     time.Time // when its block was reserved, to the second, UTC
	Sequence int64     // its number within that UTC day
}

// Parse returns the fields of an id, or ErrInvalid.
func Parse(id int64) (Parts, error) {
	if id <= 0 || id&maxSequence == 0 {
		return Parts{}, fmt.Errorf("%w: %d", ErrInvalid, id)
	}
	return Parts{
		Time:     Epoch.Add(time.Duration(id>>sequenceBits) * time.Second),
		Sequence: id & maxSequence,
	}, nil
}
