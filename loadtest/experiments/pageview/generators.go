package pageview

import (
	"context"
	"errors"
	"fmt"
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

func newReply(sent rig.Claim, count, wait string) (reply, error) {
	n, err := strconv.ParseInt(count, 10, 64)
	ms, waitErr := strconv.ParseFloat(wait, 64)
	return reply{sent, n, ms}, errors.Join(err, waitErr)
}

// k6 sends the views with the script loadtest/k6/pview.js.
func (t Trial) k6(ctx context.Context, dir, url string) (replies []reply, err error) {
	samples, err := rig.RunK6(ctx, dir, "pview.js", 1, "BASE_URL="+url, "VERSION="+t.Version, "METHOD="+t.Method)
	if err != nil {
		return nil, err
	}
	var errs []error
	err = rig.ReadSamples(samples, func(s rig.Sample) {
		if s.Metric != "view" {
			return
		}
		tags := s.Data.Tags
		r, err := newReply(s.Claim(), tags["count"], tags["wait"])
		replies, errs = append(replies, r), append(errs, err)
	})
	return replies, errors.Join(append(errs, err)...)
}

// jmeter sends the views with the plan loadtest/jmeter/pview.jmx.
func (t Trial) jmeter(ctx context.Context, dir, url string) ([]reply, error) {
	rows, err := rig.RunJMeter(ctx, dir, "pview.jmx", url, "view", []string{"wait", "count", "instance"},
		fmt.Sprintf("burst=%d", burstSize), "version="+t.Version, "method="+t.Method)
	if err != nil {
		return nil, err
	}
	return repliesOf(rows)
}

func repliesOf(rows []rig.Row) (replies []reply, err error) {
	for _, row := range rows {
		if row["responseCode"] != "200" {
			continue
		}
		sent, err := row.Claim()
		if err != nil {
			return nil, err
		}
		r, err := newReply(sent, row["count"], row["wait"])
		if err != nil {
			return nil, err
		}
		replies = append(replies, r)
	}
	return replies, nil
}

// took returns how long after the first request the last reply was received, at
// least a millisecond.
func took(replies []reply) time.Duration {
	first, last := replies[0].Sent, replies[0].Received
	for _, r := range replies[1:] {
		if r.Sent.Before(first) {
			first = r.Sent
		}
		if r.Received.After(last) {
			last = r.Received
		}
	}
	return max(time.Millisecond, last.Sub(first))
}
