package rig

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// claimVariables are the columns that claim.jmx adds to JMeter's own.
var claimVariables = []string{"order", "verdict", "instance"}

// JMeter is the Generator that runs the plan loadtest/jmeter/claim.jmx.
func JMeter(ctx context.Context, dir string, t Target, w Workload) (Burst, error) {
	claims := filepath.Join(dir, "claims.csv")
	if err := writeClaims(claims, t, w); err != nil {
		return Burst{}, err
	}
	rows, err := RunJMeter(ctx, dir, "claim.jmx", t.URL, "claim", claimVariables,
		"claims="+claims, fmt.Sprintf("burst=%d", w.BurstSize()), fmt.Sprintf("rounds=%d", w.Rounds))
	if err != nil {
		return Burst{}, err
	}
	return burstFrom(rows, w)
}

// writeClaims writes a line for each claim, one round after the other. A thread
// reads its next line only when its round has ended for all threads.
func writeClaims(file string, t Target, w Workload) error {
	tokens, err := t.userTokens(w.Users)
	if err != nil {
		return err
	}
	var lines strings.Builder
	for _, coupon := range t.Coupons {
		for i := range w.BurstSize() {
			fmt.Fprintf(&lines, "%s,%s\n", tokens[i%w.Users], coupon)
		}
	}
	return os.WriteFile(file, []byte(lines.String()), 0o600)
}

func burstFrom(rows []Row, w Workload) (Burst, error) {
	var b Burst
	for _, row := range rows {
		s, err := row.Span()
		if err != nil {
			return Burst{}, err
		}
		c := Claim{Sent: s.Sent, Received: s.Received, Verdict: Unexpected, Instance: row["instance"]}
		switch row["responseCode"] {
		case "201":
			c.Verdict, c.Order = Accepted, row["order"]
		case "409":
			c.Verdict = row["verdict"]
		}
		b.Spans, b.Claims = append(b.Spans, s), append(b.Claims, c)
	}
	b.Skews = skews(b.Spans, w.BurstSize())
	return b, nil
}

// skews returns how long after the first claim of its round each claim was sent.
// JMeter's timer names no common moment, so the first claim stands for it.
func skews(spans []Span, burstSize int) []time.Duration {
	sent := make([]time.Time, 0, len(spans))
	for _, s := range spans {
		sent = append(sent, s.Sent)
	}
	slices.SortFunc(sent, time.Time.Compare)
	var skews []time.Duration
	for round := range slices.Chunk(sent, burstSize) {
		for _, t := range round {
			skews = append(skews, t.Sub(round[0]))
		}
	}
	return skews
}
