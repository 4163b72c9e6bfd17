package rig

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"example.com/flashsale/loadtest/shop"
)

// claimVariables are the columns that claim.jmx adds to JMeter's own.
var claimVariables = []string{"order", "verdict", "instance", "user"}

// JMeter is the Generator that runs the plan loadtest/jmeter/claim.jmx.
func JMeter(ctx context.Context, dir string, t Target, w Workload) (Burst, error) {
	claims, plan := filepath.Join(dir, "claims.csv"), "claim.jmx"
	if err := writeClaims(claims, t, w); err != nil {
		return Burst{}, err
	}
	defer os.Remove(claims) // it has the users' tokens
	if t.Shop != nil {
		var err error
		if plan, err = writePlan(dir, t); err != nil {
			return Burst{}, err
		}
	}
	samples, err := RunJMeter(ctx, dir, plan, t.URL, "claim", claimVariables,
		"claims="+claims, fmt.Sprintf("burst=%d", w.BurstSize()), fmt.Sprintf("rounds=%d", w.Rounds))
	return burstOf(samples, func(c *Claim, row map[string]string) { c.read(row, t.Shop) }), err
}

// writeClaims writes a line for each claim, one round after the other. A thread
// reads its next line only when its round has ended for all threads.
func writeClaims(file string, t Target, w Workload) error {
	users := t.users(w.Users)
	var lines strings.Builder
	for _, coupon := range t.Coupons {
		for i := range w.BurstSize() {
			u := users[i%w.Users]
			fmt.Fprintf(&lines, "%s,%s,%s,%d\n", u.Token, coupon, u.ID, w.Number(i))
		}
	}
	return os.WriteFile(file, []byte(lines.String()), 0o600)
}

// read sets what the reply in row says of c, of s or, if s is nil, of this repository's service.
// Of another shop's, the plan has the whole body in the place of the order.
func (c *Claim) read(row map[string]string, s *shop.Shop) {
	if s != nil {
		status, err := strconv.Atoi(row["responseCode"])
		c.Verdict, c.Order = s.Reply.Read(shop.Reply{Status: status, Body: []byte(row["order"])})
		switch {
		case err != nil:
			c.Verdict, c.Order, c.Detail = shop.Unknown, "", "no reply: "+row["responseCode"]
		case c.Verdict == shop.Unknown:
			c.Detail = fmt.Sprintf("status %d", status)
		}
		return
	}
	switch row["responseCode"] {
	case "201":
		c.Verdict, c.Order = Accepted, row["order"]
	case "409":
		c.Verdict = row["verdict"]
	default:
		c.Verdict = Unexpected
	}
}
