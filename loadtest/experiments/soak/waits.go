package soak

import (
	"strings"
	"time"

	"example.com/flashsale/loadtest/rig"
	"example.com/flashsale/loadtest/trial"
)

// waitLimit is how long a claim may wait for its reply, whatever has failed. Nginx
// waits for an instance longer than any client does (60 s), so it hides no late
// reply.
const waitLimit = claimTimeout + time.Second

// waited returns for how long of c's wait the service is responsible. A suspended
// instance cannot reply: the time in which the instance was suspended that c was sent to
// does not count, and of a claim through nginx, which may wait for either, that of both.
func waited(c rig.Claim, outages []outage) time.Duration {
	wait := trial.Span{Begin: c.Sent, End: c.Received}
	d := wait.Took()
	for _, o := range outages {
		name, suspended := strings.CutSuffix(o.What, suspension)
		if suspended && (c.Instance == "nginx" || c.Instance == name) {
			d -= wait.Overlap(o.strike)
		}
	}
	return d
}

// longestWait returns the claim that waited for longest of those whose wait touches during.
func longestWait(claims []rig.Claim, outages []outage, during trial.Span) (longest rig.Claim, d time.Duration) {
	for _, c := range claims {
		if w := waited(c, outages); w > d && !c.Received.Before(during.Begin) && !c.Sent.After(during.End) {
			longest, d = c, w
		}
	}
	return longest, d
}
