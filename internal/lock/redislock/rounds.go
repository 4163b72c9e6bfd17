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

var (
	//go:embed rounds.lua
	roundsLua    string
	roundsScript = redis.NewScript(roundsLua)
)

var errWrongType = errors.New("WRONGTYPE: the key is no lock")

// Batched returns a locker like New's for many goroutines at once: what they
// ask while one round trip is under way goes out together in the next, a
// hundred questions to a script (in a cluster one, and all in one pipeline).
// Who asks alone waits hardly longer than with New.
func Batched(rdb redis.UniversalClient) *Locker {
	l := New(rdb)
	l.rounds = &rounds{rdb: rdb, publish: l.publish, batch: l.batch}
	return l
}

// rounds are round trips, one at a time: as long as the connection holds, what
// was asked first is answered first, and letting go of a lock cannot overtake
// the taking of it.
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
	batches []batch       // of them, in their order
	done    chan struct{} // closed when the answers are there
}

// A batch is what one script is asked.
type batch struct {
	asks    []ask
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

// ask returns the answer, or the cause of ctx: a may then have been asked, or
// may still be.
func (r *rounds) ask(ctx context.Context, a ask) (yes bool, sent int64, err error) {
	on, at, alone := r.join(a)
	if alone {
		r.send(ctx, on)
		r.goOn()
	} else {
		select {
		case <-on.done:
		case <-ctx.Done():
			return false, 1, context.Cause(ctx)
		}
	}
	in := &on.batches[at/r.batch]
	yes, err = in.answer(at % r.batch)
	return yes, max(1, in.sent.n.Load()), err
}

// join puts a into the next round. If none is under way, a has one of its own.
func (r *rounds) join(a ask) (on *round, at int, alone bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.busy {
		r.busy = true
		return &round{asks: []ask{a}}, 0, true
	}
	if r.next == nil {
		r.next = &round{asks: make([]ask, 0, r.last), done: make(chan struct{})}
	}
	on = r.next
	on.asks = append(on.asks, a)
	return on, len(on.asks) - 1, false
}

// goOn makes the rounds that have become due meanwhile, on nobody's time.
func (r *rounds) goOn() {
	if on := r.begin(); on != nil {
		go func() {
			for ; on != nil; on = r.begin() {
				r.send(context.Background(), on)
				close(on.done)
			}
		}()
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

// send gets the answers. What carries several questions ends by the client's
// own limits only: those of its callers differ.
func (r *rounds) send(ctx context.Context, on *round) {
	for asks := range slices.Chunk(on.asks, r.batch) {
		on.batches = append(on.batches, batch{asks: asks})
	}
	r.exchange(ctx, on.batches, redis.Pipeliner.EvalSha, roundsScript.Hash())
	for i := range on.batches {
		if b := &on.batches[i]; redis.HasErrorPrefix(b.err, "NOSCRIPT") {
			b.sent.reset() // that attempt did nothing
			r.exchange(ctx, on.batches[i:i+1], redis.Pipeliner.Eval, roundsLua)
		}
	}
}

// evaluate is EVAL or EVALSHA.
type evaluate = func(p redis.Pipeliner, ctx context.Context, script string, keys []string, args ...any) *redis.Cmd

// exchange asks all batches in one round trip.
func (r *rounds) exchange(ctx context.Context, batches []batch, evaluate evaluate, script string) {
	cmds := make([]*redis.Cmd, len(batches))
	_, _ = r.rdb.Pipelined(ctx, func(p redis.Pipeliner) error { // each has its own error
		for i := range batches {
			keys, args := batches[i].words(r.publish)
			cmds[i] = evaluate(p, ctx, script, keys, args...)
		}
		return nil
	})
	for i := range batches {
		b := &batches[i]
		if b.answers, b.err = cmds[i].Text(); b.err == nil && len(b.answers) != len(b.asks) {
			b.err = fmt.Errorf("%d answers to %d questions", len(b.answers), len(b.asks))
		}
	}
}

// words are what the script wants to know.
func (b *batch) words(publish string) (keys []string, args []any) {
	keys, args = make([]string, 0, len(b.asks)), make([]any, 0, 2+2*len(b.asks))
	args = append(args, publish, &b.sent)
	for _, a := range b.asks {
		keys, args = append(keys, a.key), append(args, a.token, a.ttl)
	}
	return keys, args
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
