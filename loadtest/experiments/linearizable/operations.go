package linearizable

import (
	"slices"

	"example.com/flashsale/loadtest/rig"
	"example.com/flashsale/loadtest/trial"
)

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
