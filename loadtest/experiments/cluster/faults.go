package cluster

import (
	"slices"
	"time"

	"example.com/flashsale/internal/lab"
	"example.com/flashsale/loadtest/fault"
	"example.com/flashsale/loadtest/rig"
)

// A disruption is a fault of the site in one routing.
type disruption struct {
	fault.Fault
	routing lab.Routing
	quorum  bool // is lost: no node can commit while it lasts
	quick   bool // is part of a short run as well
}

const (
	// restartTime is what a supervisor takes to start a killed process again.
	restartTime = time.Second
	// silentTime is longer than Galera's nodes wait for a silent one (6 s at
	// most), and than CLAIM_TIMEOUT.
	silentTime = 8 * time.Second
)

// noticed is how long after the loss of quorum a commit may still succeed: the
// nodes had all received it.
const noticed = time.Second

// judge adds what d does not allow: without a quorum, every claim has to be refused
// with 503.
func (d disruption) judge(b *buyers, struck time.Time) {
	if !d.quorum {
		return
	}
	claims, healing := b.Claims(), struck.Add(d.Lasts)
	if n := acceptedBetween(claims, struck.Add(noticed), healing); n > 0 {
		b.violations.Add("%d claims were accepted without a quorum", n)
	}
	if !slices.ContainsFunc(claims, func(c rig.Claim) bool {
		return c.Failed() && c.Verdict != rig.Lost && c.Received.After(struck) && c.Received.Before(healing)
	}) {
		b.violations.Add("no claim was refused with 503 although there was no quorum")
	}
}
