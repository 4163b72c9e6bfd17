package bench

import (
	"context"

	"example.com/flashsale/loadtest/rig"
)

const (
	benchSegments = 16 // of a coupon that is split
	segmentConns  = 64
	// pausedClaim is the time for which a claim has its lock before it commits. It
	// stands for a critical section whose length is not the machine's CPU time.
	pausedClaim = "CLAIM_PAUSE=20ms"
)

// segments measures a coupon whose stock is in one row, and one whose stock is in
// segments: under a lock for all of it or for a segment, which alone guards the
// stock, and with the shipped lock per user.
func (b *bench) segments(ctx context.Context) error {
	perCoupon, perSegment := rig.LabSettings("redis", "coupon", "each", "stock"), rig.LabSettings("redis", "segment", "each", "stock")
	var all []measurement
	for _, m := range []struct {
		name     string
		segments int
		settings []string
	}{
		{"lock per coupon", 1, perCoupon},
		{"lock per segment", benchSegments, perSegment},
		{"paused/lock per coupon", 1, append(perCoupon[:len(perCoupon):len(perCoupon)], pausedClaim)},
		{"paused/lock per segment", benchSegments, append(perSegment[:len(perSegment):len(perSegment)], pausedClaim)},
		{"each/one row", 1, []string{"COMMIT=each"}},
		{"each/segments", benchSegments, []string{"COMMIT=each"}},
		{"grouped/one row", 1, []string{"COMMIT=grouped"}},
		{"grouped/segments", benchSegments, []string{"COMMIT=grouped"}},
	} {
		d, err := b.direct(ctx, variant{m.name, "api", m.settings})
		if err != nil {
			return err
		}
		d.segments = m.segments
		all = append(all, b.rate("segments/"+m.name, d))
	}
	return b.interleave(ctx, all)
}

// rate measures accepted claims.
func (b *bench) rate(name string, d deployment) measurement {
	return measurement{name, func(ctx context.Context) error {
		r, err := b.claim(ctx, d, segmentConns, b.shortDuration, 1)
		if err != nil {
			return err
		}
		b.Add(name, "1/s", r.perSecond(r.accepted()))
		b.Add(name+" p99", "ms", float64(r.P99US)/1000)
		return nil
	}}
}
