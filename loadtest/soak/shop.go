package main

import (
	"context"
	"math/rand/v2"
	"net/http"
	"slices"
	"sync"
	"time"

	"example.com/flashsale/loadtest/rig"
)

// expected are the answers to a claim that a promise allows at any time.
var expected = []string{"accepted", "sold_out", "already_claimed", "claim_in_progress", "not_started", "unknown"}

// shop is one of the crowd: it claims in the name of anybody, at times twice at
// once, at times looks at an order, and never hurries.
func (w *world) shop(ctx context.Context) error {
	for pause(ctx, rand.N(20*time.Millisecond)) {
		p := purchase{rig.User(rand.N(town)), w.market.pick()}
		if p.coupon == 0 {
			continue
		}
		switch dice := rand.N(100); {
		case dice < 5:
			var both sync.WaitGroup
			both.Go(func() { w.claim(ctx, p) })
			both.Go(func() { w.claim(ctx, p) })
			both.Wait()
		case dice < 10:
			w.lookUp(ctx, p)
		default:
			w.claim(ctx, p)
		}
	}
	return nil
}

// claim claims once and enters the answer.
func (w *world) claim(ctx context.Context, p purchase) answer {
	sent := time.Now()
	a := w.client.claim(ctx, p.user, p.coupon)
	if had := w.ledger.note(p, a, time.Since(sent)); had != 0 {
		w.faults.add("user %d had order %d of coupon %d and is told %+v", p.user, had, p.coupon, a)
	}
	if !slices.Contains(expected, a.verdict()) {
		w.faults.add("unexpected answer to a claim: %+v", a)
	}
	return a
}

// lookUp reads an order that was acknowledged.
func (w *world) lookUp(ctx context.Context, p purchase) {
	id := w.ledger.toldOf(p)
	if id == 0 {
		return
	}
	a := w.client.readOrder(ctx, p.user, id)
	if a.status == http.StatusNotFound {
		w.faults.add("acknowledged order %d is not found by its user", id)
	}
}
