package soak

import (
	"cmp"
	"slices"
	"time"

	"example.com/flashsale/loadtest/rig"
	"example.com/flashsale/loadtest/trial"
)

// waitLimit is how long a claim may wait for its reply, whatever has failed. Nginx
// waits for an instance longer than any client does (60 s), so it hides no late
// reply.
const waitLimit = claimTimeout + time.Second

// A pause is a time during which an instance was suspended. A suspended instance
// cannot reply. The client is the one that calls that instance directly.
type pause struct {
	trial.Span
	client string
}

// waited returns for how long of c's wait the service is responsible. The pauses
// of the instance that c was sent to do not count, and of a claim through nginx,
// which may wait for either instance, no pause counts.
func waited(c rig.Claim, pauses []pause) time.Duration {
	wait := trial.Span{Begin: c.Sent, End: c.Received}
	d := wait.Took()
	for _, p := range pauses {
		if c.Instance == "nginx" || c.Instance == p.client {
			d -= wait.Overlap(p.Span)
		}
	}
	return d
}

// longestWait returns the longest wait that touches during.
func longestWait(claims []rig.Claim, pauses []pause, during trial.Span) (d time.Duration) {
	for _, c := range claims {
		if !c.Received.Before(during.Begin) && !c.Sent.After(during.End) {
			d = max(d, waited(c, pauses))
		}
	}
	return d
}

// late returns the claims that waited for longer than limit, the longest first.
func late(claims []rig.Claim, pauses []pause, limit time.Duration) (found []rig.Claim) {
	for _, c := range claims {
		if waited(c, pauses) > limit {
			found = append(found, c)
		}
	}
	slices.SortFunc(found, func(a, b rig.Claim) int { return cmp.Compare(waited(b, pauses), waited(a, pauses)) })
	return found
}
