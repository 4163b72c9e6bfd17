package linearizable

import (
	"fmt"
	"time"

	"example.com/flashsale/loadtest/trial"
)

// couponCache is COUPON_CACHE: how old may be what an instance knows of a coupon, and so
// what it refuses a claim by.
const couponCache = 200 * time.Millisecond

// check returns why the operations on a coupon since begin are not linearizable, or nil.
func check(operations []trial.Operation, begin time.Time, end final) error {
	steps, err := resolve(operations, begin, end)
	if err != nil {
		return err
	}
	s := newSearch(steps, end.initial)
	switch s.run() {
	case undecided:
		return fmt.Errorf("undecided after %d states", maxStates)
	case violated:
		return fmt.Errorf("no order of %d steps agrees with the replies: %d can be ordered, and %s cannot follow",
			len(steps), s.deepest, s.blocking)
	}
	return nil
}
