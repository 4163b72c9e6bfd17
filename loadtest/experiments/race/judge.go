package race

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"time"

	"example.com/flashsale/loadtest/rig"
)

// judge audits a side in the database, asks the service for its own audit, and
// says what happened.
func (s *session) judge(ctx context.Context, race Race, i int, v *service) (r Result, err error) {
	side, w := race.Sides[i], race.Workload
	r.Side = i
	r.Coupon = v.coupon
	counts, err := count(ctx, side, w, v)
	if err != nil {
		return r, err
	}
	r.Counts, r.Promises = &counts, promises(counts)
	client := rig.NewClient(v.Nginx.URL)
	if err := client.Call(ctx, http.MethodGet, "/coupons/"+v.coupon+"/audit", s.stack.Signer().Admin(), nil,
		http.StatusOK, &r.Audit); err != nil {
		return r, err
	}
	r.Sentence, r.Source = s.explain(side, race.Sides[1-i].Settings, counts, w)
	return r, nil
}

// count reads the side's coupon and orders from the database and counts the
// replies.
func count(ctx context.Context, side Side, w Workload, v *service) (Counts, error) {
	coupon, err := strconv.ParseInt(v.coupon, 10, 64)
	if err != nil {
		return Counts{}, err
	}
	accounts, err := v.Accounts(ctx, coupon)
	if err != nil {
		return Counts{}, err
	}
	if len(accounts) != 1 {
		return Counts{}, errors.New("the coupon is not in the database")
	}
	a, b := accounts[0], side.burst()
	missing, err := v.Missing(ctx, b.Acknowledged())
	return Counts{
		InitialStock: a.InitialStock, Stock: a.Stock, Orders: a.Orders, Users: a.Users,
		Duplicates: a.Duplicates(), Oversold: a.Oversold(), Undersold: a.Undersold(), Unsold: a.Unsold(w.Users),
		Missing: len(missing), Accepted: len(b.Acknowledged()), Codes: side.codes(), Instances: b.Instances(),
		Overlaps: overlaps(side.Sections, keyOf), MaxInFlight: b.MaxInFlight(),
	}, err
}

// burst returns the claims as the rig counts them.
func (s Side) burst() rig.Burst {
	var b rig.Burst
	moment := func(us int64) time.Time { return s.Barrier.Add(time.Duration(us) * time.Microsecond) }
	for _, c := range s.Claims {
		verdict := c.Code
		if c.Status == http.StatusCreated {
			verdict = rig.Accepted
		}
		b.Spans = append(b.Spans, rig.Span{Sent: moment(c.Sent), Received: moment(c.Answered)})
		b.Claims = append(b.Claims, rig.Claim{Sent: moment(c.Sent), Received: moment(c.Answered), Verdict: verdict,
			Order: c.Order, Instance: c.Instance})
	}
	return b
}

// took returns the time from the first claim to the last reply.
func (s Side) took() time.Duration {
	first, last := int64(0), int64(0)
	for _, c := range s.Claims {
		first, last = min(first, c.Sent), max(last, c.Answered)
	}
	return time.Duration(last-first) * time.Microsecond
}

// codes counts the refused claims by code.
func (s Side) codes() map[string]int {
	codes := map[string]int{}
	for _, c := range s.Claims {
		if c.Status != http.StatusCreated {
			codes[c.Code]++
		}
	}
	return codes
}

func keyOf(s Section) string { return s.Key }

// overlaps counts the sections that were entered while another with the same
// result of key was running. A section begins after its lock was granted, and
// ends before its release, so a lock that works has no overlaps by keyOf.
func overlaps(all []Section, key func(Section) string) int {
	n := 0
	latest := map[string]int64{} // the latest release
	for _, s := range slices.SortedFunc(slices.Values(all),
		func(x, y Section) int { return cmp.Compare(x.Granted, y.Granted) }) {
		if end, found := latest[key(s)]; found && s.Granted < end {
			n++
		}
		latest[key(s)] = max(latest[key(s)], s.Released)
	}
	return n
}

// promises compares the counts with the three promises of a sale.
func promises(c Counts) []Promise {
	broken := []Promise{
		{ID: "stock", Name: "no more orders than stock", Number: c.Oversold},
		{ID: "one_each", Name: "no user has two orders", Number: c.Duplicates},
		{ID: "all_sold", Name: "no acknowledged order is missing, and what is wanted is sold",
			Number: c.Missing + c.Undersold + c.Unsold},
	}
	for i := range broken {
		broken[i].Held = broken[i].Number == 0
	}
	return broken
}
