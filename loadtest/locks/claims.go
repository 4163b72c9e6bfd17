package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"example.com/flashsale/loadtest/rig"
)

// A Claim is one as its client saw it.
type Claim struct {
	Answered time.Time
	Verdict  string
	Order    string
}

// claim sends a round for each coupon, a second apart, and returns all claims
// in the order of their answers.
func claim(ctx context.Context, s *rig.Stack, sv *Service, coupons []int64) ([]Claim, error) {
	dir, err := s.Dir("claims")
	if err != nil {
		return nil, err
	}
	err = k6(ctx, dir, "seven-each.js", "BASE_URL="+sv.Nginx.URL, "JWT_SECRET="+string(s.Secret),
		"COUPONS="+join(coupons), fmt.Sprintf("ROUNDS=%d", len(coupons)), "SUMMARY="+filepath.Join(dir, "summary.json"))
	if err != nil {
		return nil, err
	}
	f, err := os.Open(filepath.Join(dir, "points.json"))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var claims []Claim
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var p struct {
			Metric, Type string
			Data         struct {
				Time time.Time
				Tags map[string]string
			}
		}
		if err := json.Unmarshal(lines.Bytes(), &p); err != nil {
			return nil, err
		}
		if p.Type == "Point" && p.Metric == "claims" {
			claims = append(claims, Claim{p.Data.Time, p.Data.Tags["verdict"], p.Data.Tags["order"]})
		}
	}
	slices.SortFunc(claims, func(a, b Claim) int { return a.Answered.Compare(b.Answered) })
	return claims, lines.Err()
}
