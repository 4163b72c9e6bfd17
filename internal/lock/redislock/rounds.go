package redislock

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

//go:embed rounds.lua
var roundsLua string

var errWrongType = errors.New("WRONGTYPE: the key is no lock")

// Batched returns a locker like New's for many goroutines at once: what they
// ask while one round trip is under way goes out together in the next, a
// hundred questions to a script (in a cluster one, and all in one pipeline).
// Alone, a question costs a little more than New's.
func Batched(rdb redis.UniversalClient) *Locker {
	l := New(rdb)
	l.rounds = &rounds{rdb: rdb, publish: l.publish, batch: l.batch}
	return l
}

// rounds are round trips, one at a time: what was asked first is answered
// first, so that letting go of a lock never overtakes the taking of it.
type rounds struct {
	rdb     redis.UniversalClient
	publish string
	batch   int

	mu   sync.Mutex
	next *round // what has gathered; nil if nothing has
	last int    // how much gathered before it
	busy bool   // a round is under way
}

// A round is what goes out together.
type round struct {
	asks    []ask
	batches []batch       // of so many asks each
	done    chan struct{} // closed when the answers are there
}

// A batch is what one script is asked.
type batch struct {
	sent    attempts
	answers string // a character for each ask
	err     error  // or why there are none
}

// An ask is for taking a lock, or for letting go of it.
type ask struct {
	key, token string
	ttl        int64 // in ms; 0 to let go
}

// take asks for key.
func (r *rounds) take(ctx context.Context, key, token string, ttl time.Duration) (bool, error) {
	yes, _, err := r.ask(ctx, ask{key, token, ttl.Milliseconds()})
	return yes, err
}

// letGo gives key back. It reports also how often it was asked to, as far as
// that is known: once at least.
func (r *rounds) letGo(ctx context.Context, key, token string) (yes bool, sent int64, err error) {
	return r.ask(ctx, ask{key, token, 0})
}

// ask returns the answer, or the cause of ctx: a is then asked all the same,
// before whatever comes later.
func (r *rounds) ask(ctx context.Context, a ask) (yes bool, sent int64, err error) {
	on, at := r.join(a)
	select {
	case <-on.done:
		in := &on.batches[at/r.batch]
		yes, err = in.answer(at % r.batch)
		return yes, max(1, in.sent.n.Load()), err
	case <-ctx.Done():
		return false, 1, context.Cause(ctx)
	}
}

// join puts a into the next round, and sees to it that there is one.
func (r *rounds) join(a ask) (on *round, at int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.next == nil {
		r.next = &round{asks: make([]ask, 0, r.last), done: make(chan struct{})}
	}
	on = r.next
	on.asks = append(on.asks, a)
	if !r.busy {
		r.busy = true
		go r.run()
	}
	return on, len(on.asks) - 1
}

// run makes round after round until nobody asks.
func (r *rounds) run() {
	for on := r.begin(); on != nil; on = r.begin() {
		r.send(on)
		close(on.done)
	}
}

func (r *rounds) begin() *round {
	r.mu.Lock()
	defer r.mu.Unlock()
	on := r.next
	r.next, r.busy = nil, on != nil
	if r.busy {
		r.last = len(on.asks)
	}
	return on
}

// send gets the answers. Only the client's own limits end it: those of the
// callers are none of a round's business.
func (r *rounds) send(on *round) {
	parts := slices.Collect(slices.Chunk(on.asks, r.batch))
	on.batches = make([]batch, len(parts))
	cmds := make([]*redis.Cmd, len(parts))
	_, _ = r.rdb.Pipelined(context.Background(), func(p redis.Pipeliner) error { // each has its own error
		for i, part := range parts {
			cmds[i] = eval(p, r.publish, &on.batches[i].sent, part)
		}
		return nil
	})
	for i, part := range parts {
		b := &on.batches[i]
		if b.answers, b.err = cmds[i].Text(); b.err == nil && len(b.answers) != len(part) {
			b.err = fmt.Errorf("%d answers to %d questions", len(b.answers), len(part))
		}
	}
}

func eval(p redis.Pipeliner, publish string, sent *attempts, asks []ask) *redis.Cmd {
	keys, args := make([]string, 0, len(asks)), make([]any, 0, 2+2*len(asks))
	args = append(args, publish, sent)
	for _, a := range asks {
		keys, args = append(keys, a.key), append(args, a.token, a.ttl)
	}
	return p.Eval(context.Background(), roundsLua, keys, args...)
}

func (b *batch) answer(at int) (bool, error) {
	switch {
	case b.err != nil:
		return false, b.err
	case b.answers[at] == 'x':
		return false, errWrongType
	}
	return b.answers[at] == '1', nil
}
