package race

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"slices"
	"time"

	"example.com/flashsale/loadtest/rig"
	"example.com/flashsale/loadtest/verdict"
)

// judge audits a side in the database, and asks the service for its own audit. struck is
// the fault that struck the side.
func (s *session) judge(ctx context.Context, race Race, i int, v *service, struck *Struck) (o Outcome, err error) {
	side, w := race.Sides[i], race.Workload
	side.Struck = struck
	o = Outcome{Coupon: v.coupon, Barrier: side.Barrier, Struck: struck}
	counts, err := count(ctx, side, w, v)
	if err != nil {
		return o, err
	}
	o.Counts, o.Promises = &counts, promises(side, w, counts)
	return o, rig.NewClient(v.Nginx.URL).Call(ctx, http.MethodGet, "/coupons/"+v.coupon+"/audit",
		s.stack.Signer().Admin(), nil, http.StatusOK, &o.Audit)
}

// count audits the side in the database, and counts the replies.
func count(ctx context.Context, side Side, w Workload, v *service) (Counts, error) {
	b := side.burst()
	codes := b.Verdicts()
	delete(codes, rig.Accepted)
	totals, auditErr := v.Audit(ctx, w.at(side.Settings), b.Acknowledged())
	left, err := v.sample(ctx)
	return Counts{
		Totals: totals, InitialStock: w.Stock, Stock: left.Stock,
		Accepted: len(b.Acknowledged()), Codes: codes, Instances: b.Instances(),
		Overlaps: overlaps(side.Sections), MaxInFlight: b.MaxInFlight(),
	}, errors.Join(auditErr, err)
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
		b.Claims = append(b.Claims, rig.Claim{Sent: moment(c.Sent), Received: moment(c.Answered), Verdict: verdict,
			Order: c.Order, Instance: c.Instance})
	}
	return b
}

// overlaps counts the sections that were entered while another of their key was
// running. A section begins after its lock was granted, and ends before its release, so
// a lock that works has no overlaps.
func overlaps(all []Section) int {
	n := 0
	latest := map[string]int64{} // the latest release of each key
	for _, s := range slices.SortedFunc(slices.Values(all),
		func(x, y Section) int { return cmp.Compare(x.Granted, y.Granted) }) {
		if end, found := latest[s.Key]; found && s.Granted < end {
			n++
		}
		latest[s.Key] = max(latest[s.Key], s.Released)
	}
	return n
}

// promises compares the counts with the three promises of a sale. One that nothing
// keeps has to break. The stock is put to the test when it is exhausted, and one
// order each, or as many as each may have, when claims of a user have met: in their section, at the lock, or at the
// order of an earlier one. A fault that struck nothing has put nothing to the test.
func promises(side Side, w Workload, c Counts) []Promise {
	s := side.Settings
	tried := s.Fault == noFault || side.struck()
	lost := c.AckedMissing + c.Undersold
	if s.Fault == noFault { // else claims may fail, as their users are told
		lost += c.Unsold
	}
	met := tried && w.ClaimsPerUser > w.PerUser && c.Overlaps+c.Codes["claim_in_progress"]+c.found() > 0
	return []Promise{
		{"stock", verdict.Of(!s.keepsStock(w), c.Oversold > 0, tried && c.Orders >= c.InitialStock), c.Oversold},
		{"one_each", verdict.Of(!s.keepsOneEach(), c.Duplicates > 0, met), c.Duplicates},
		{"all_sold", verdict.Of(false, lost > 0, tried && c.Accepted > 0), lost},
	}
}

// struck reports whether a fault struck the side while a claim was in its section: if
// an instance was suspended, in a section of that one.
func (s Side) struck() bool {
	return s.Struck != nil && slices.ContainsFunc(s.Sections, func(x Section) bool {
		inside := x.Granted <= s.Struck.From && s.Struck.From <= x.Released
		return inside && (s.Settings.Fault != suspended || x.Instance == s.Struck.Instance)
	})
}

// keepsOneEach reports whether the unique key or the lock keeps a user from having
// more orders than he may have. The claims of one user may be for different segments.
func (s Settings) keepsOneEach() bool {
	return slices.Contains(s.Guards, "unique") || s.excludes() && s.LockScope != "segment"
}

// keepsStock reports whether the condition or the lock keeps the stock from being
// oversold, or no more orders than stock can be made.
func (s Settings) keepsStock(w Workload) bool {
	buyers := w.Claims()
	if s.keepsOneEach() {
		buyers = w.wanted()
	}
	return slices.Contains(s.Guards, "stock") || buyers <= w.Stock || s.excludes() && s.LockScope != "user"
}

// found returns how many claims found an order of an earlier one, or as many as their
// user may have.
func (c Counts) found() int { return c.Codes["already_claimed"] + c.Codes["limit_reached"] }

// excludes reports whether the lock is one of all instances, its server does not
// forget it, and no holder can outlive its lease.
func (s Settings) excludes() bool {
	outlived := s.Fault == suspended && s.Lock != "getlock" // which a connection keeps
	return s.Lock != "none" && (s.Lock != "local" || s.Instances == 1) && s.Fault != emptied && !outlived
}
