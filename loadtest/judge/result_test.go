package judge

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"example.com/flashsale/loadtest/rig"
	"example.com/flashsale/loadtest/shop"
	"example.com/flashsale/loadtest/verdict"
)

func counted(n int) shop.Count { return shop.Count{N: n, Known: true} }

// resultOf returns a burst with so many claims of each outcome, all at once.
func resultOf(accepted, refused, unknown int) *Result {
	r := &Result{Workload: Workload{Workload: rig.Workload{Users: accepted + refused + unknown, Each: 1}}}
	begin, end := time.UnixMilli(0), time.UnixMilli(1000)
	add := func(n int, outcome, detail string) {
		for range n {
			c := rig.Claim{User: int64(len(r.Claims)), Sent: begin, Received: end, Verdict: outcome, Detail: detail}
			r.Claims = append(r.Claims, c)
		}
	}
	add(accepted, shop.Accepted, "")
	add(refused, shop.Refused, "status 429\n\"gone\"")
	add(unknown, shop.Unknown, "status 500\n\"full\"")
	return r
}

func TestPromisesHoldBreakOrAreUnknown(t *testing.T) {
	t.Parallel()
	good := shop.Counts{Stock: counted(0), Orders: counted(10), Users: counted(10)}
	with := func(orders, users, most shop.Count) shop.Counts {
		return shop.Counts{Stock: counted(0), Orders: orders, Users: users, MostPerUser: most}
	}
	negative := good
	negative.Stock = counted(-3)
	surplus := good
	surplus.Stock = counted(2)
	var none shop.Count
	for name, c := range map[string]struct {
		after   shop.Counts
		missing shop.Count
		unknown int // outcomes
		want    string
		verdict verdict.Verdict
	}{
		"all held": {good, counted(0), 0, "held, held, held", verdict.Held},
		"oversold": {with(counted(12), counted(12), none), counted(0), 0,
			"2 oversold, held, held", verdict.Wrong},
		"left and sold": {surplus, counted(0), 0,
			"2 surplus, held, held", verdict.Wrong},
		"negative stock": {negative, counted(0), 0, "3 oversold, held, held", verdict.Wrong},
		"duplicates": {with(counted(10), counted(9), none), counted(0), 0,
			"held, 1 duplicates, held", verdict.Wrong},
		"most of one": {with(counted(10), none, counted(4)), counted(0), 0,
			"held, 4 for one user, held", verdict.Wrong},
		"missing":            {good, counted(2), 0, "held, held, 2 missing", verdict.Wrong},
		"none of those told": {good, counted(10), 0, "held, held, unknown", verdict.Void},
		"fewer than told":    {with(counted(9), counted(9), none), none, 0, "held, held, 1 missing", verdict.Wrong},
		"by number":          {good, none, 0, "held, held, held", verdict.Held},
		"not by number":      {good, none, 1, "held, held, unknown", verdict.Void},
		"no counts":          {shop.Counts{}, none, 0, "unknown, unknown, unknown", verdict.Void},
		"not all counts":     {with(counted(10), none, none), counted(0), 0, "held, unknown, held", verdict.Void},
		"broken anyway":      {with(counted(12), none, none), none, 0, "2 oversold, unknown, held", verdict.Wrong},
	} {
		r := resultOf(10, 20, c.unknown)
		r.Before, r.After, r.Missing = shop.Counts{Stock: counted(10), Orders: counted(0)}, c.after, c.missing
		var got []string
		for _, f := range r.findings() {
			got = append(got, f.String())
		}
		if s := strings.Join(got, ", "); s != c.want || r.Verdict() != c.verdict {
			t.Errorf("%s: %s, %s; want %s, %s", name, s, r.Verdict(), c.want, c.verdict)
		}
	}
}

// A shop may reply to a repeated claim as to the first, but not to the claim of another order.
func TestUserMayBeToldOfHisOrderAgain(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		perUser  int
		named    bool // the order, by its id
		numbered bool // the claim
		want     verdict.Verdict
	}{{1, true, false, verdict.Held}, {1, false, false, verdict.Held}, {2, true, false, verdict.Wrong},
		{2, true, true, verdict.Held}} {
		r := resultOf(30, 0, 0)
		for i := range r.Claims {
			c := &r.Claims[i]
			if c.User = int64(i % 10); test.named {
				c.Order = strconv.Itoa(i % 10)
			}
			if test.numbered {
				c.Number = 1
			}
		}
		r.Limit.PerUser, r.Before = test.perUser, shop.Counts{Stock: counted(10), Orders: counted(0)}
		r.After = shop.Counts{Stock: counted(0), Orders: counted(10), Users: counted(10), MostPerUser: counted(1)}
		if got := r.Verdict(); got != test.want {
			t.Errorf("%+v: %s: %s", test, got, r.Kept())
		}
	}
}

func TestWhatProvesNothingSaysWhy(t *testing.T) {
	t.Parallel()
	held := func(r *Result) *Result {
		accepted := counted(len(r.Acknowledged()))
		r.Before = shop.Counts{Stock: accepted, Orders: counted(0)}
		r.After = shop.Counts{Stock: counted(0), Orders: accepted, Users: accepted}
		r.Missing = counted(0)
		return r
	}
	limited := held(resultOf(10, 0, 20))
	for i := range limited.Claims[10:] {
		limited.Claims[10+i].Detail = tooManyRequests
	}
	short := held(resultOf(10, 20, 0))
	short.Claims = short.Claims[:29]
	apart := held(resultOf(10, 20, 0))
	for i := range apart.Claims {
		c := &apart.Claims[i]
		c.Sent = c.Sent.Add(time.Duration(2*i) * time.Second)
		c.Received = c.Sent.Add(time.Second)
	}
	limited503 := held(resultOf(1, 1, 28)) // all but two by a proxy
	limited503.Claims[1].Sent = limited503.Claims[0].Received
	lucky := held(resultOf(10, 20, 0))
	lucky.Control = true
	unlimited := held(resultOf(30, 0, 0)) // as a hold that is paid before it expires
	unlimited.Control = true
	unsold := held(resultOf(10, 20, 0)) // as if all others met a conflict
	unsold.Stock, unsold.Before.Stock, unsold.After.Stock = 11, counted(11), counted(1)
	changing := held(resultOf(10, 20, 0))
	changing.changing = true
	near := held(resultOf(10, 20, 0)) // to its database, or elsewhere
	near.Limit, near.Delayed = shop.Workload{Delay: 1}, 29
	for want, r := range map[string]*Result{
		"only 29 requests to the database were delayed": near,
		"a rate limit is on: 20 of 30 claims":           limited,
		`no claim was accepted: 30 × status 500 "full"`: held(resultOf(0, 0, 30)),
		`none met a limit: 9 × status 500 "full"`:       held(resultOf(10, 0, 9)),
		"29 of 30 claims were sent":                     short,
		"only 1 claims were in flight":                  apart,
		"only 1 claims were in flight while":            limited503,
		"had to break a promise and did not":            lucky,
		"read as refused":                               held(resultOf(30, 0, 0)),
		`were refused: 30 × status 429 "gone"`:          held(resultOf(0, 30, 0)),
		"so none met a limit":                           unlimited,
		"totals still changed after the timeout":        changing,
		"not sold out, so no claim met the limit":       unsold,
	} {
		if got := strings.Join(r.Reasons(), "; "); !strings.Contains(got, want) || r.Verdict().Pass() {
			t.Errorf("%s: %q, want %q", r.Verdict(), got, want)
		}
	}
}
