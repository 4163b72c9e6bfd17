package linearizable

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"example.com/flashsale/loadtest/rig"
	"example.com/flashsale/loadtest/trial"
)

// An owner is a user with a number. It has one order of a coupon at a time.
type owner struct {
	user   int64
	number int
}

// A holding is the order that an owner has. The zero value is none.
type holding struct {
	order string
	used  bool
}

// A step is an operation whose effect is known, or the end of orders that expired. It takes
// effect at one moment between its call and its return, which count from the begin of the
// run. It changes the stock and who has which order, or has only seen them.
type step struct {
	call, ret time.Duration
	units     int // that it adds to the stock
	moves     []move
	soldOut   bool   // it saw no stock
	saw       *sight // or nothing of a holding
}

// A move changes the holding of an owner.
type move struct {
	owner
	from, to holding
}

// A sight is the order that an owner was seen to have, or empty if it had none.
type sight struct {
	owner
	order string
}

// never is the time of what has not happened.
const never = time.Duration(math.MaxInt64)

// reads reports whether the step changes nothing.
func (s step) reads() bool { return s.units == 0 && len(s.moves) == 0 }

// String says what a step is, in messages.
func (s step) String() string {
	var what []string
	if s.units != 0 {
		what = append(what, fmt.Sprintf("%+d units", s.units))
	}
	for _, m := range s.moves {
		what = append(what, fmt.Sprintf("user %d from %v to %v", m.user, m.from, m.to))
	}
	if s.soldOut {
		what = append(what, "sold out")
	}
	if s.saw != nil {
		what = append(what, fmt.Sprintf("user %d told of order %q", s.saw.user, s.saw.order))
	}
	return fmt.Sprintf("%s (%.3f s to %.3f s)", strings.Join(what, ", "), s.call.Seconds(), s.ret.Seconds())
}

// A model is the state of a coupon.
type model struct {
	stock int
	held  map[owner]holding
}

// possible reports whether s can come next.
func (m *model) possible(s step) bool {
	if s.soldOut && m.stock != 0 || s.saw != nil && m.held[s.saw.owner].order != s.saw.order {
		return false
	}
	for _, one := range s.moves {
		if m.held[one.owner] != one.from {
			return false
		}
	}
	return m.stock+s.units >= 0
}

func (m *model) do(s step) {
	m.stock += s.units
	for _, one := range s.moves {
		m.held[one.owner] = one.to
	}
}

// undo undoes s, which was the last.
func (m *model) undo(s step) {
	m.stock -= s.units
	for _, one := range s.moves {
		m.held[one.owner] = one.from
	}
}

// refusals are the verdicts on a claim after which it has no effect. One that is not known
// proves nothing.
var refusals = append([]string{rig.Overloaded, "coupon_not_found", "not_started", "ended"}, rig.Refusals...)

// unknown reports whether the operation may have taken effect, or may yet.
func unknown(o trial.Operation) bool {
	if o.Kind == trial.Claim {
		return o.Verdict != rig.Accepted && !slices.Contains(refusals, o.Verdict)
	}
	return o.Failed()
}

// may reports whether the operation took effect, for all that its client knows.
func may(o trial.Operation) bool { return o.Verdict == rig.Accepted || unknown(o) }

// ownerOf returns whose order the operation is about.
func ownerOf(o trial.Operation) owner { return owner{o.User, max(o.Number, 1)} }
