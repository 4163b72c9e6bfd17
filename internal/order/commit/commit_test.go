package commit_test

import (
	"context"
	"testing"

	"example.com/flashsale/internal/check"
	"example.com/flashsale/internal/lab"
	"example.com/flashsale/internal/lab/labtest"
	"example.com/flashsale/internal/order/commit"
	"example.com/flashsale/internal/order/ordertest"
)

func TestMain(m *testing.M) { labtest.Main(m, lab.MySQLServer, lab.RedisServer, lab.GaleraLibrary) }

// A blockade locks a coupon's row. The first batch waits for the row, and all later claims are
// queued.
type blockade struct {
	t        *testing.T
	claims   *ordertest.Instance
	couponID int64
	unlock   func()
	first    <-chan error
}

// block returns once the first batch, which is a claim of user 1, is being committed.
func block(s *ordertest.Sale, claims *ordertest.Instance, couponID int64) *blockade {
	s.T.Helper()
	unlock := s.Block(couponID)
	first := ordertest.Claim(context.Background(), claims, 1, couponID)
	check.Eventually(s.T, "the first batch is being committed", func() bool {
		queues, orders := commit.Queued(claims.Committer)
		return queues > 0 && orders == 0
	})
	return &blockade{s.T, claims, couponID, unlock, first}
}

// lift unlocks the row, and checks that the first batch has its order.
func (b *blockade) lift() {
	b.t.Helper()
	b.unlock()
	ordertest.Expect(b.t, "first batch", b.first, nil)
}

// claim starts a later claim, and returns once it is queued.
func (b *blockade) claim(ctx context.Context, userID int64) (result <-chan error) {
	b.t.Helper()
	return queued(b.t, ctx, b.claims, userID, b.couponID)
}

// queued starts a claim, and returns once it is queued.
func queued(t *testing.T, ctx context.Context, claims *ordertest.Instance, userID, couponID int64) <-chan error {
	t.Helper()
	_, before := commit.Queued(claims.Committer)
	result := ordertest.Claim(ctx, claims, userID, couponID)
	check.Eventually(t, "the claim is queued", func() bool {
		_, orders := commit.Queued(claims.Committer)
		return orders > before
	})
	return result
}
