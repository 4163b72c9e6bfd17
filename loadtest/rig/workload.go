package rig

import (
	"context"
	"fmt"
	"strconv"

	"example.com/flashsale/internal/coupon"
	"example.com/flashsale/loadtest/shop"
)

// A Workload says how many users claim how many coupons at the same moment.
type Workload struct {
	Script   string // of loadtest/k6, without .js
	Users    int
	Each     int // simultaneous claims of each user
	Stock    int // of each coupon
	Limit    int // orders of a coupon that a user may have; 0 is 1
	Segments int // rows that each coupon's stock is split over; 0 is 1
	Rounds   int // bursts, each on a coupon of its own
	// Returned says that each user claims a coupon before, and returns it at the moment at
	// which its hold is over; what the burst sends is the returns.
	Returned bool
}

// The workloads of loadtest/k6.
var (
	OneUser   = Workload{Script: "one-user", Users: 1, Each: 666, Stock: 100, Rounds: 1}
	ManyUsers = Workload{Script: "many-users", Users: 666, Each: 1, Stock: 100, Rounds: 1}
	SevenEach = Workload{Script: "seven-each", Users: 100, Each: 7, Stock: 50, Rounds: 1}
	Retried   = Workload{Script: "retried", Users: 200, Each: 1, Stock: 600, Limit: 3, Rounds: 1}
	Returns   = Workload{Script: "returns", Users: 200, Each: 1, Stock: 200, Rounds: 1, Returned: true}
)

// Times returns the workload with n rounds.
func (w Workload) Times(n int) Workload {
	w.Rounds = n
	return w
}

// Split returns the workload with the stock of each coupon in n segments.
func (w Workload) Split(n int) Workload {
	w.Segments = n
	return w
}

// UpTo returns the workload with coupons of which a user may have n orders.
func (w Workload) UpTo(n int) Workload {
	w.Limit = n
	return w
}

// rules are those of each coupon.
func (w Workload) rules() coupon.Rules {
	r := coupon.Rules{PerUser: max(w.Limit, 1), Returnable: w.Returned}
	if w.Returned {
		r.HoldSeconds = coupon.MinHoldSeconds
	}
	return r
}

// Wanted returns how many orders of a coupon the users want: all that they may have and
// ask for, and none once they have returned it.
func (w Workload) Wanted() int {
	if w.Returned {
		return 0
	}
	return w.Users * min(w.Each, max(w.Limit, 1))
}

// Number returns which of its user's orders the n-th claim of a round is for: each in turn.
func (w Workload) Number(n int) int { return 1 + n/w.Users%max(w.Limit, 1) }

// BurstSize returns how many claims a round has.
func (w Workload) BurstSize() int { return w.Users * w.Each }

// Requests returns how many claims all rounds have.
func (w Workload) Requests() int { return w.BurstSize() * w.Rounds }

// Title describes the workload in a table: "50 in 16" is a stock of 50 in 16
// segments.
func (w Workload) Title() string {
	s := fmt.Sprintf("%d users × %d, stock %d", w.Users, w.Each, w.Stock)
	if w.Segments > 1 {
		s = fmt.Sprintf("%d users × %d, %d in %d", w.Users, w.Each, w.Stock, w.Segments)
	}
	if w.Users == 1 {
		s = fmt.Sprintf("1 user × %d", w.Each)
	}
	switch {
	case w.Returned:
		s = fmt.Sprintf("%d holders return", w.Users)
	case w.Script == Retried.Script:
		s = fmt.Sprintf("%d users × 1, cut", w.Users)
	case w.Limit > 1:
		s += fmt.Sprintf(", %d each", w.Limit)
	}
	if w.Rounds > 1 {
		s += fmt.Sprintf(", %d times", w.Rounds)
	}
	return s
}

// A Target is the service that a load generator sends claims to.
type Target struct {
	URL     string   // without a trailing slash
	Secret  string   // signs the users' tokens
	Coupons []string // one for each round

	Shop  *shop.Shop  // says how to claim and how replies are read; nil is this repository's service
	Users []shop.User // those of a shop

	AtBurst func() // is called before the first claim of a shop's, if it is not nil
}

// A Generator sends the claims of a workload to a target and leaves its files in
// dir.
type Generator func(ctx context.Context, dir string, t Target, w Workload) (Burst, error)

// users returns n users: those of a shop, or else users of this repository's service.
func (t Target) users(n int) []shop.User {
	if t.Users != nil {
		return t.Users[:n]
	}
	users := make([]shop.User, n)
	for i := range users {
		id := int64(i + 1)
		users[i] = shop.User{ID: strconv.FormatInt(id, 10), Token: TokenSigner(t.Secret).User(id)}
	}
	return users
}
