package commit_test

import (
	"context"
	"testing"

	"example.com/flashsale/internal/lab"
	"example.com/flashsale/internal/lab/labtest"
	"example.com/flashsale/internal/order/commit"
	"example.com/flashsale/internal/order/ordertest"
)

func TestMain(m *testing.M) { labtest.Main(m, lab.MySQLServer, lab.RedisServer, lab.GaleraLibrary) }

// A blockade locks a coupon's row, so that the first batch waits for the row
// and all later claims are queued.
type blockade struct {
	t        *testing.T
	claims   *ordertest.Instance
	couponID int64
	lift     func()
}

func block(s *ordertest.Sale, claims *ordertest.Instance, couponID int64) *blockade {
	s.T.Helper()
	return &blockade{s.T, claims, couponID, s.Block(couponID)}
}

// first starts the claim that becomes the first batch, and returns once that
// batch is being committed.
func (b *blockade) first(userID int64) (result <-chan error) {
	b.t.Helper()
	result = b.start(context.Background(), userID)
	labtest.Eventually(b.t, "the first batch is being committed", func() bool {
		queues, orders := commit.Queued(b.claims.Committer)
		return queues > 0 && orders == 0
	})
	return result
}

// claim starts a later claim, and returns once it is queued.
func (b *blockade) claim(ctx context.Context, userID int64) (result <-chan error) {
	b.t.Helper()
	return queued(b.t, ctx, b.claims, userID, b.couponID)
}

func (b *blockade) start(ctx context.Context, userID int64) <-chan error {
	return ordertest.Claim(ctx, b.claims, userID, b.couponID)
}

// queued starts a claim, and returns once it is queued.
func queued(t *testing.T, ctx context.Context, claims *ordertest.Instance, userID, couponID int64) <-chan error {
	t.Helper()
	_, before := commit.Queued(claims.Committer)
	result := ordertest.Claim(ctx, claims, userID, couponID)
	labtest.Eventually(t, "the claim is queued", func() bool {
		_, orders := commit.Queued(claims.Committer)
		return orders > before
	})
	return result
}
