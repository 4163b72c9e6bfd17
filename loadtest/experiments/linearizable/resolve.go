package linearizable

import (
	"fmt"
	"slices"
	"time"

	"example.com/flashsale/loadtest/rig"
	"example.com/flashsale/loadtest/trial"
)

// A final is what the database has at the end for one coupon.
type final struct {
	initial, stock int
	orders         []rig.Order // those that have ended as well
	restocks       []int       // the units of each, which no other restock of the coupon has
	hold           time.Duration
}

// commitLimit is how long after its last statement a transaction may be committed.
const commitLimit = 5 * time.Second

// A resolver turns operations into steps whose effect is known, by what the database has at
// the end.
//
// Orders, the ended ones as well, and restocks stay in the database. So an operation whose
// outcome is unknown took effect if and only if the database has what it would have made,
// and no other operation was told that it made it. Where several operations could have,
// the first call of them is the earliest moment. Such a step is open until the end, or
// until a reply says what it has made.
type resolver struct {
	operations        []trial.Operation
	begin             time.Time
	orders            map[string]rig.Order // by id
	made, used, ended map[string]*step     // by the id of the order
	placed            map[string]bool      // a claim was told that it made the order
	mortal            map[owner]bool       // some order of theirs has ended
}

// resolve returns the steps of the operations on a coupon. It returns an error if a reply
// contradicts the database.
func resolve(operations []trial.Operation, begin time.Time, end final) ([]step, error) {
	r := resolver{operations, begin, map[string]rig.Order{}, map[string]*step{}, map[string]*step{},
		map[string]*step{}, map[string]bool{}, map[owner]bool{}}
	if err := r.open(end); err != nil {
		return nil, err
	}
	for _, o := range operations {
		var err error
		switch o.Kind {
		case trial.Claim:
			err = r.claimed(o)
		case trial.Return, trial.Use:
			err = r.changed(o)
		}
		if err != nil {
			return nil, err
		}
	}
	steps, err := r.changes()
	if err != nil {
		return nil, err
	}
	added, err := r.restocks(end)
	return slices.Concat(steps, added, r.reads()), err
}

// open opens a step for each change of an order that the database has seen.
func (r *resolver) open(end final) error {
	counting, units := 0, end.initial
	for _, n := range end.restocks {
		units += n
	}
	for _, o := range end.orders {
		if _, twice := r.orders[o.ID]; twice {
			return fmt.Errorf("order %s both counts and has ended", o.ID)
		}
		by, open := owner{o.User, o.Number}, holding{order: o.ID}
		r.orders[o.ID] = o
		r.made[o.ID] = &step{call: never, ret: never, units: -1, moves: []move{{by, holding{}, open}}}
		if o.UsedAt != nil {
			r.used[o.ID] = &step{call: never, ret: r.since(*o.UsedAt) + commitLimit,
				moves: []move{{by, open, holding{o.ID, true}}}}
		}
		if o.EndedAt == nil {
			counting++
			continue
		}
		one := &step{call: never, ret: r.since(*o.EndedAt) + commitLimit, units: 1,
			moves: []move{{by, open, holding{}}}}
		if o.How == expired {
			if one.call = 0; o.EndedAt.Before(o.CreatedAt.Add(end.hold)) {
				return fmt.Errorf("order %s of %s expired early, at %s", o.ID, o.CreatedAt, o.EndedAt)
			}
		}
		r.ended[o.ID], r.mortal[by] = one, true
	}
	if end.stock < 0 || end.stock+counting != units {
		return fmt.Errorf("%d units were on sale; %d are left, and %d have an order", units, end.stock, counting)
	}
	return nil
}

// What the database says of how orders end.
const (
	returned = "returned"
	expired  = "expired"
)

func (r *resolver) since(t time.Time) time.Duration { return t.Sub(r.begin) }

// claimed lets the reply to a claim bound the step of an order.
func (r *resolver) claimed(o trial.Operation) error {
	for id, s := range r.made {
		if unknown(o) && s.moves[0].owner == ownerOf(o) && !r.placed[id] {
			s.call = min(s.call, r.since(o.Sent))
		}
	}
	if o.Verdict != rig.Accepted && o.Verdict != "already_claimed" {
		return nil
	}
	s := r.made[o.Order]
	if s == nil || s.moves[0].owner != ownerOf(o) {
		return fmt.Errorf("the reply %+v names an order that user %d does not have", o, o.User)
	}
	s.ret = min(s.ret, r.since(o.Received))
	if o.Verdict == rig.Accepted {
		if r.placed[o.Order] {
			return fmt.Errorf("order %s was placed twice: %+v", o.Order, o)
		}
		s.call, r.placed[o.Order] = r.since(o.Sent), true
	}
	return nil
}

// changed lets the reply to a use or a return bound the steps of its order.
func (r *resolver) changed(o trial.Operation) error {
	in := r.orders[o.Order]
	mine, made := r.used[o.Order], in.UsedAt != nil && in.UsedRef == o.Reference // what o does
	if o.Kind == trial.Return {
		mine, made = r.ended[o.Order], in.How == returned
	}
	if made && may(o) {
		mine.call = min(mine.call, r.since(o.Sent))
	}
	told, agrees := mine, made // what o was told of
	switch {
	case unknown(o):
		return nil
	case o.Verdict == "already_used":
		told, agrees = r.used[o.Order], in.UsedAt != nil
	case o.Verdict == "order_returned":
		told, agrees = r.ended[o.Order], in.How == returned
	case o.Verdict == "order_expired": // it may end later
		told, agrees = &step{}, in.UsedAt == nil && in.How != returned
	case o.Verdict != rig.Accepted:
		agrees = false
	}
	if !agrees {
		return fmt.Errorf("the database contradicts the reply %+v: it has %+v", o, in)
	}
	told.ret = min(told.ret, r.since(o.Received))
	return nil
}

// changes returns the steps that changed orders. Of those that ended in one transaction,
// which has one time, there is one.
func (r *resolver) changes() (steps []step, err error) {
	sweeps := map[time.Time]*step{}
	for id, s := range r.ended {
		o := r.orders[id]
		if s.call = max(s.call, r.since(*o.EndedAt)); o.How != expired {
			continue
		}
		if first := sweeps[*o.EndedAt]; first != nil {
			first.units, first.moves = first.units+1, append(first.moves, s.moves...)
			delete(r.ended, id)
		} else {
			sweeps[*o.EndedAt] = s
		}
	}
	for id, s := range r.used {
		s.call = max(s.call, r.since(*r.orders[id].UsedAt))
	}
	for _, all := range []map[string]*step{r.made, r.used, r.ended} {
		for _, s := range all {
			if s.call > s.ret || s.call == never {
				return nil, fmt.Errorf("there is %s, before any request that can have made it", s)
			}
			steps = append(steps, *s)
		}
	}
	return steps, nil
}

// restocks returns the step of each restock that took effect.
func (r *resolver) restocks(end final) (steps []step, err error) {
	for _, o := range r.operations {
		if o.Kind != trial.Restock {
			continue
		}
		made := slices.Contains(end.restocks, o.Units)
		one := step{call: r.since(o.Sent), ret: r.since(o.Received), units: o.Units}
		switch {
		case o.Verdict == rig.Accepted && !made:
			return nil, fmt.Errorf("the database does not have the restock %+v", o)
		case o.Verdict == rig.Accepted:
			steps = append(steps, one)
		case unknown(o) && made:
			one.ret = never
			steps = append(steps, one)
		}
	}
	if len(steps) != len(end.restocks) {
		return nil, fmt.Errorf("the database has restocks of %v units, %d of them were requested",
			end.restocks, len(steps))
	}
	return steps, nil
}

// reads returns the steps of the claims that were refused by what the service saw: it
// promises that this was true at most couponCache before the claim.
func (r *resolver) reads() (steps []step) {
	for _, o := range r.operations {
		one := step{call: r.since(o.Sent) - couponCache, ret: r.since(o.Received)}
		stock := one
		stock.soldOut, one.saw = true, &sight{ownerOf(o), o.Order}
		switch mortal := r.mortal[ownerOf(o)]; {
		case o.Verdict == "sold_out" && mortal: // its order may have ended between the two
			steps = append(steps, stock, one)
		case o.Verdict == "sold_out":
			one.soldOut = true
			steps = append(steps, one)
		case o.Verdict == "already_claimed" && mortal: // it bounds the order's step otherwise
			steps = append(steps, one)
		}
	}
	return steps
}
