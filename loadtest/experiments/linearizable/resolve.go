package linearizable

import (
	"fmt"
	"slices"
	"time"
)

// A step is an operation whose effect is known. It takes effect at one moment
// between its call and its return.
type step struct {
	call, ret time.Duration
	user      int64 // 0 for a restock
	units     int   // what it adds to the stock; 0 if it only saw the stock empty
}

// A final is what the database has at the end for one coupon.
type final struct {
	initial, stock int
	orders         map[int64]int64 // by user
	restocks       []int           // the units of each, which no other restock of the coupon has
}

// resolve turns the operations on a coupon into steps whose effect is known. It
// returns an error if a reply contradicts the database.
//
// Orders and restocks stay in the database. So an operation whose outcome is
// unknown took effect if and only if the database has what it would have made, and
// no other operation of the user was told that it made it. Where several of a
// user's operations could have, the first call of them is the earliest moment.
// Such a step is open until the end, or until a reply names its order.
//
// cacheAge is how old a stock may be that a claim is refused by: the service
// promises that sold out was true at most so long before the claim. Such a step
// begins earlier by cacheAge.
func resolve(operations []operation, end final, cacheAge time.Duration) ([]step, error) {
	if err := end.check(); err != nil {
		return nil, err
	}
	orders, err := orderSteps(operations, end)
	if err != nil {
		return nil, err
	}
	restocks, err := restockSteps(operations, end)
	if err != nil {
		return nil, err
	}
	return slices.Concat(orders, restocks, soldOutSteps(operations, cacheAge)), nil
}

// check compares stock and orders.
func (f final) check() error {
	units := f.initial
	for _, n := range f.restocks {
		units += n
	}
	if f.stock < 0 || f.stock+len(f.orders) != units {
		return fmt.Errorf("%d units were on sale; %d are left, and %d have an order", units, f.stock, len(f.orders))
	}
	return nil
}

// orderSteps returns the step of each order.
func orderSteps(operations []operation, end final) ([]step, error) {
	steps := map[int64]*step{}
	acknowledged := map[int64]bool{}
	for user := range end.orders {
		steps[user] = &step{call: never, ret: never, user: user, units: -1}
	}
	for _, o := range operations {
		s := steps[o.User]
		switch {
		case o.Verdict == placed || o.Verdict == alreadyClaimed:
			if s == nil || end.orders[o.User] != o.Order {
				return nil, fmt.Errorf("the reply %+v names an order that user %d does not have", o, o.User)
			}
			if o.Verdict == placed && acknowledged[o.User] {
				return nil, fmt.Errorf("order %d was placed twice: %+v", o.Order, o)
			}
			s.ret = min(s.ret, o.Return)
			if o.Verdict == placed {
				s.call, acknowledged[o.User] = o.Call, true
			}
		case o.Verdict == unknown && s != nil && !acknowledged[o.User]:
			s.call = min(s.call, o.Call)
		}
	}
	list := make([]step, 0, len(steps))
	for user, s := range steps {
		if s.call > s.ret || s.call == never {
			return nil, fmt.Errorf("user %d had order %d before any claim that can have placed it", user,
				end.orders[user])
		}
		list = append(list, *s)
	}
	return list, nil
}

// restockSteps returns the step of each restock that took effect.
func restockSteps(operations []operation, end final) (steps []step, err error) {
	for _, o := range operations {
		made := slices.Contains(end.restocks, o.Units)
		switch {
		case o.Verdict == restocked && !made:
			return nil, fmt.Errorf("the database does not have the restock %+v", o)
		case o.Verdict == restocked:
			steps = append(steps, step{call: o.Call, ret: o.Return, units: o.Units})
		case o.Verdict == unknown && o.User == 0 && made:
			steps = append(steps, step{call: o.Call, ret: never, units: o.Units})
		}
	}
	if len(steps) != len(end.restocks) {
		return nil, fmt.Errorf("the database has restocks of %v units, %d of them were requested",
			end.restocks, len(steps))
	}
	return steps, nil
}

// soldOutSteps returns the step of each refusal for lack of stock.
func soldOutSteps(operations []operation, cacheAge time.Duration) (steps []step) {
	for _, o := range operations {
		if o.Verdict == soldOut {
			steps = append(steps, step{call: o.Call - cacheAge, ret: o.Return, user: o.User})
		}
	}
	return steps
}
