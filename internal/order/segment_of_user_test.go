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
			claims[OwnSegment(coupon.Coupon{ID: 1, Segments: segments}, i*stride).Number]++
		}
		for n, got := range claims {
			if got < users/segments*8/10 || got > users/segments*12/10 {
				t.Errorf("ids with stride %d: %d of %d users in segment %d", stride, got, users, n)
			}
		}
	}
}
