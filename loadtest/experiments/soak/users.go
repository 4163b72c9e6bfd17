package soak

import (
	"context"
	"math/rand/v2"
	"net/http"
	"slices"
	"sync"
	"time"

	"example.com/flashsale/loadtest/rig"
)

const (
	userLoops = 64
	users     = 4000 // more than a coupon's stock with its restocking
)

// allowedVerdicts are the verdicts that a claim may have at any time.
var allowedVerdicts = []string{rig.Accepted, "sold_out", "already_claimed", "claim_in_progress",
	"not_started", unknown}

// userLoop claims as a random user, sometimes twice at once, and sometimes reads
// an order.
func (r *run) userLoop(ctx context.Context, client client) error {
	for rig.Sleep(ctx, rand.N(20*time.Millisecond)) {
		c := claim{rig.UserID(rand.N(users)), r.coupons.pick()}
		if c.coupon == 0 {
			continue
		}
		switch percent := rand.N(100); {
		case percent < 5:
			var both sync.WaitGroup
			both.Go(func() { r.claim(ctx, client, c) })
			both.Go(func() { r.claim(ctx, client, c) })
			both.Wait()
		case percent < 10:
			r.readOrder(ctx, client, c)
		default:
			r.claim(ctx, client, c)
		}
	}
	return nil
}

// claim sends c once and records the reply.
func (r *run) claim(ctx context.Context, client client, c claim) reply {
	got := client.claim(ctx, c)
	r.waits.add(wait{span{got.sent, got.received}, c, client.instance})
	if order := r.history.add(c, got, got.received.Sub(got.sent)); order != 0 {
		r.violations.add("user %d has order %d of coupon %d and got %+v", c.user, order, c.coupon, got)
	}
	if !slices.Contains(allowedVerdicts, got.verdict()) {
		r.violations.add("unexpected reply to a claim: %+v", got)
	}
	return got
}

// readOrder reads the order that c's user was told of.
func (r *run) readOrder(ctx context.Context, client client, c claim) {
	id := r.history.order(c)
	if id == 0 {
		return
	}
	if client.readOrder(ctx, c.user, id).status == http.StatusNotFound {
		r.violations.add("acknowledged order %d is not found by its user", id)
	}
}
