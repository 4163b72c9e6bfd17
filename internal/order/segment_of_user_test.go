package order

import (
	"testing"

	"example.com/flashsale/internal/coupon"
)

func TestUsersSpreadOverSegments(t *testing.T) {
	t.Parallel()
	const segments, users = 16, 16_000
	for _, stride := range []int64{1, 2, 16, 1000, 1 << 32} {
		claims := make([]int, segments)
		for i := range int64(users) {
			claims[segmentFor(coupon.Coupon{ID: 1, Segments: segments}, i*stride).Number]++
		}
		for n, got := range claims {
			if got < users/segments*8/10 || got > users/segments*12/10 {
				t.Errorf("ids with stride %d: %d of %d users in segment %d", stride, got, users, n)
			}
		}
	}
}

// The users of an empty segment spread over those that have stock.
func TestUsersLeaveAnEmptySegment(t *testing.T) {
	t.Parallel()
	c := coupon.Coupon{ID: 1, Segments: 4, EmptySegments: 0b0101}
	claims := make([]int, 4)
	for user := range int64(1000) {
		claims[segmentFor(c, user).Number]++
	}
	if claims[0]+claims[2] > 0 || claims[1] < 400 || claims[3] < 400 {
		t.Errorf("claims by segment: %d", claims)
	}
	c.EmptySegments = 0b1111
	if got := segmentFor(c, 1); got != segmentFor(coupon.Coupon{ID: 1, Segments: 4}, 1) {
		t.Errorf("all empty: segment %d", got.Number)
	}
}
