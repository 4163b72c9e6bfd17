package trial

import (
	"time"

	"example.com/flashsale/loadtest/rig"
)

// A Span is a time from Begin to End.
type Span struct{ Begin, End time.Time }

// Took returns how long s lasts.
func (s Span) Took() time.Duration { return s.End.Sub(s.Begin) }

// Overlap returns how long both spans last at the same time.
func (s Span) Overlap(other Span) time.Duration {
	begin, end := s.Begin, s.End
	if other.Begin.After(begin) {
		begin = other.Begin
	}
	if other.End.Before(end) {
		end = other.End
	}
	return max(0, end.Sub(begin))
}

// Answered reports whether c has a verdict.
func Answered(c rig.Claim) bool { return !c.Failed() }

// Accepted reports whether c was accepted.
func Accepted(c rig.Claim) bool { return c.Verdict == rig.Accepted }

// Gaps returns the times without a reply that matches, since begin. claims are in
// the order of their replies.
func Gaps(claims []rig.Claim, begin time.Time, matches func(rig.Claim) bool) (gaps []Span) {
	for _, c := range claims {
		if matches(c) && c.Received.After(begin) {
			gaps = append(gaps, Span{begin, c.Received})
			begin = c.Received
		}
	}
	return gaps
}

// Longest returns how long the longest of spans lasts.
func Longest(spans []Span) (longest time.Duration) {
	for _, s := range spans {
		longest = max(longest, s.Took())
	}
	return longest
}

// Recovered returns when the first claim was accepted after the last that failed
// during s, or the zero time if none failed or none was accepted again. claims are
// in the order of their replies.
func Recovered(claims []rig.Claim, s Span) (recovered time.Time) {
	failed := false
	for _, c := range claims {
		switch {
		case c.Failed() && c.Received.After(s.Begin) && !c.Received.After(s.End):
			failed, recovered = true, time.Time{}
		case failed && recovered.IsZero() && Accepted(c):
			recovered = c.Received
		}
	}
	return recovered
}
