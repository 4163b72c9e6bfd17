package pageview

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"example.com/flashsale/loadtest/rig"
)

// A reply is the reply to a view that was counted: with status 200.
type reply struct {
	rig.Claim
	count int64   // the counter's value, as the view was told
	wait  float64 // for the lock, in ms
}

// k6 sends the views with the script loadtest/k6/pview.js.
func (t Trial) k6(ctx context.Context, dir, url string) ([]rig.Sample, error) {
	return rig.RunK6(ctx, dir, "pview.js", "view", 1, "BASE_URL="+url, "VERSION="+t.Version, "METHOD="+t.Method)
}

// jmeter sends the views with the plan loadtest/jmeter/pview.jmx.
func (t Trial) jmeter(ctx context.Context, dir, url string) ([]rig.Sample, error) {
	return rig.RunJMeter(ctx, dir, "pview.jmx", url, "view", []string{"wait", "count", "instance"},
		fmt.Sprintf("burst=%d", burstSize), "version="+t.Version, "method="+t.Method)
}

// repliesOf returns the replies with status 200. k6 records no others.
func repliesOf(samples []rig.Sample) (replies []reply, err error) {
	for _, s := range samples {
		if code := s.Values["responseCode"]; code != "" && code != "200" {
			continue
		}
		count, err := strconv.ParseInt(s.Values["count"], 10, 64)
		wait, waitErr := strconv.ParseFloat(s.Values["wait"], 64)
		if err := errors.Join(err, waitErr); err != nil {
			return nil, err
		}
		replies = append(replies, reply{s.Claim, count, wait})
	}
	return replies, nil
}

// took returns how long after the first request the last reply was received, at
// least a millisecond.
func took(replies []reply) time.Duration {
	first := slices.MinFunc(replies, func(a, b reply) int { return a.Sent.Compare(b.Sent) })
	last := slices.MaxFunc(replies, func(a, b reply) int { return a.Received.Compare(b.Received) })
	return max(time.Millisecond, last.Received.Sub(first.Sent))
}
