package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"sync"
	"time"

	"example.com/flashsale/loadtest/rig"
)

// A market is the coupons that the crowd knows of, the newest last.
type market struct {
	mu      sync.Mutex
	coupons []int64
}

const (
	stalls = 4    // coupons that the crowd looks at
	stock  = 1500 // of a new one
	supply = 500  // of a restocking
	crowd  = 64
	town   = 4000 // users: more than all of a coupon's stock
)

func (m *market) add(coupon int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.coupons = append(m.coupons, coupon)
}

func (m *market) all() []int64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	return append([]int64{}, m.coupons...)
}

// pick is one of the coupons that are of interest now; zero if there is none.
func (m *market) pick() int64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.coupons) == 0 {
		return 0
	}
	now := m.coupons[max(0, len(m.coupons)-stalls):]
	return now[rand.N(len(now))]
}

// trade opens a coupon every few seconds, which the crowd learns of before its
// sale begins, and restocks an older one that has been sold out.
func (w *world) trade(ctx context.Context) error {
	every := max(2*time.Second, w.length/40)
	for n := 1; ; n++ {
		made := w.insist(ctx, func() answer {
			return w.client.create(ctx, fmt.Sprintf("coupon %d", n), time.Now().Add(every/4), stock)
		}, http.StatusCreated)
		if ctx.Err() != nil {
			return nil
		}
		w.market.add(number(made.ID))
		if !pause(ctx, every/2) {
			return nil
		}
		if err := w.restock(ctx); err != nil || !pause(ctx, every/2) {
			return err
		}
	}
}

// restock raises a coupon's stock. A second later nobody may be told that it is
// sold out unless it is: the gates may be too generous, never too strict.
func (w *world) restock(ctx context.Context) error {
	coupon := w.market.pick()
	w.insist(ctx, func() answer { return w.client.restock(ctx, coupon, supply) }, http.StatusOK)
	if !pause(ctx, time.Second) {
		return nil
	}
	left, err := w.left(ctx, coupon)
	if err != nil {
		return nil // the database is being restarted
	}
	newcomer := purchase{rig.User(town + rand.N(1<<20)), coupon}
	a := w.claim(ctx, newcomer)
	still, err := w.left(ctx, coupon)
	if err == nil && left > 0 && still > 0 && a.Code == "sold_out" {
		w.faults.add("coupon %d was called sold out with %d left", coupon, still)
	}
	return nil
}

// insist asks until it gets the status that it wants, for the service may be
// away, or ctx ends.
func (w *world) insist(ctx context.Context, ask func() answer, status int) answer {
	for {
		a := ask()
		if a.status == status {
			return a
		}
		if a.status != 0 && a.status < 500 && ctx.Err() == nil {
			w.faults.add("unexpected answer: %+v", a)
		}
		if !pause(ctx, 100*time.Millisecond) {
			return answer{}
		}
	}
}
