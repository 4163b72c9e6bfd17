package bench

import (
	"context"

	"example.com/flashsale/loadtest/rig"
)

// segments compares a coupon whose stock is in one row with one whose stock is in
// segments: under a lock for all of it or for a segment, which alone guards the
// stock, and with the shipped lock per user.
var segments = section{
	name: "segments", prepare: prepareSegments,
	tables: []table{{"segments", []string{
		"", "CPU for a claim, one row", "16 segments", "ratio", "claims/s, one row", "16 segments", "ratio",
	}, []row{
		segmentsRow("a lock for the row, without the stock guard", perCoupon, perSegment),
		segmentsRow("the same, each claim holds its lock for 20 ms before it commits", pausedPerCoupon,
			pausedPerSegment),
		segmentsRow("`each`, as shipped: a lock for the user", eachOneRow, eachSegments),
		segmentsRow("`grouped`, as shipped", groupedOneRow, groupedSegments),
	}}},
	limits: []limit{{
		"lock per segment, 16 segments / lock per coupon, 20 ms in the lock",
		ratio(pausedPerSegment.rate().figure, pausedPerCoupon.rate().figure), 8, atLeast,
	}},
}

// A stock is a coupon's stock in so many segments, and the service's settings.
type stock struct {
	name     string
	segments int
	settings []string
}

var (
	perCoupon        = lockedStock("lock per coupon", "coupon", 1)
	perSegment       = lockedStock("lock per segment", "segment", benchSegments)
	pausedPerCoupon  = lockedStock("paused/lock per coupon", "coupon", 1, pausedClaim)
	pausedPerSegment = lockedStock("paused/lock per segment", "segment", benchSegments, pausedClaim)
	eachOneRow       = stock{"each/one row", 1, each.settings}
	eachSegments     = stock{"each/segments", benchSegments, each.settings}
	groupedOneRow    = stock{"grouped/one row", 1, grouped.settings}
	groupedSegments  = stock{"grouped/segments", benchSegments, grouped.settings}
)

// lockedStock is a stock that only a lock of that scope guards.
func lockedStock(name, scope string, segments int, settings ...string) stock {
	return stock{name, segments, append(rig.LabSettings("redis", scope, "each", "stock"), settings...)}
}

func (s stock) rate() rate { return rateOf("segments/%s", s.name) }

func segmentsRow(label string, one, split stock) row {
	inOne, inMany := one.rate(), split.rate()
	return row{label, []cell{cpu(inOne), cpu(inMany), times(inMany.cpu(), inOne.cpu()), spread(inOne.figure),
		spread(inMany.figure), times(inMany.figure, inOne.figure)}}
}

const (
	benchSegments = 16 // of a coupon that is split
	segmentConns  = 64
	// pausedClaim is the time for which a claim has its lock before it commits. It
	// stands for a critical section whose length is not the machine's CPU time.
	pausedClaim = "CLAIM_PAUSE=20ms"
)

func prepareSegments(ctx context.Context, b *bench) ([]turns, error) {
	var all []measurement
	for _, s := range []stock{
		perCoupon, perSegment, pausedPerCoupon, pausedPerSegment, eachOneRow, eachSegments, groupedOneRow,
		groupedSegments,
	} {
		d, err := b.startOne(ctx, variant{s.name, "api", s.settings})
		if err != nil {
			return nil, err
		}
		all = append(all, accepted(s.rate(), d, closed(segmentConns, b.shortDuration), 1, s.segments))
	}
	return []turns{{b.repetitions, all}}, nil
}
