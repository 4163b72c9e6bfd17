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

// writeClaims writes a line for each claim, one round after the other. A token may have commas. A thread
// reads its next line only when its round has ended for all threads.
func writeClaims(file string, t Target, w Workload) error {
	users := t.users(w.Users)
	var lines strings.Builder
	for _, coupon := range t.Coupons {
		for i := range w.BurstSize() {
			u := users[i%w.Users]
			fmt.Fprintf(&lines, "%s\t%s\t%s\t%d\n", u.Token, coupon, u.ID, w.Number(i))
		}
	}
	return os.WriteFile(file, []byte(lines.String()), 0o600)
}

// read sets what the reply in row says of c, of s or, if s is nil, of this repository's service.
func (c *Claim) read(row map[string]string, s *shop.Shop) {
	switch {
	case s != nil:
		c.readWhole(row, s)
	case row["responseCode"] == "201":
		c.Verdict, c.Order = Accepted, row["order"]
	case row["responseCode"] == "409":
		c.Verdict = row["verdict"]
	default:
		c.Verdict = Unexpected
	}
}

// readWhole sets what the reply in row says of c. Of another shop's, k6 and JMeter record the whole body in the
// place of the order: their regular expressions differ from ours.
func (c *Claim) readWhole(row map[string]string, s *shop.Shop) {
	status, err := strconv.Atoi(row["responseCode"])
	if err != nil {
		c.Verdict, c.Detail = shop.Unknown, "no reply: "+row["responseCode"]
		return
	}
	c.Read(s, shop.Reply{Status: status, Body: []byte(row["order"])})
}

// Read sets what a reply of another shop says of c.
func (c *Claim) Read(s *shop.Shop, r shop.Reply) {
	if c.Verdict, c.Order = s.Reply.Read(r); c.Verdict != shop.Accepted {
		c.Detail = fmt.Sprintf("status %d\n%q", r.Status, r.Said())
	}
}
