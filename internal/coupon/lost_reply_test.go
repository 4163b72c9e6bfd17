package coupon_test

import (
	"context"
	"testing"
	"time"

	"github.com/jmoiron/sqlx"

	"example.com/flashsale/internal/check"
	"example.com/flashsale/internal/coupon"
	"example.com/flashsale/internal/faultproxy"
	"example.com/flashsale/internal/lab/labtest"
)

// commit is a COMMIT by itself. A new connection asks for READ-COMMITTED.
const commit = "\x03COMMIT"

// proxied returns a pool of a database behind a proxy, and one without the proxy.
func proxied(t *testing.T) (_ *faultproxy.Proxy, db, direct *sqlx.DB) {
	t.Helper()
	dsn := labtest.DSN(t)
	proxy, through := labtest.ProxiedMySQL(t, dsn)
	return proxy, labtest.Open(t, through), labtest.Open(t, dsn)
}

func TestRestockEndsWithItsContextWhenTheServerFallsSilent(t *testing.T) {
	t.Parallel()
	proxy, db, direct := proxied(t)
	mustCreate(t, coupon.NewStore(direct), 1, 5)
	proxy.PartitionBefore(commit)
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	done := check.Begin(func() error { _, err := coupon.NewStore(db).Restock(ctx, 1, 5, admin); return err })
	select {
	case err := <-done:
		check.ErrorIs(t, err, context.DeadlineExceeded)
	case <-time.After(3 * time.Second):
		t.Error("the restock has not returned")
	}
	proxy.Heal()
}

// In a Galera cluster COMMIT is refused if a claim at another node was faster.
func TestRestockIsRepeatedAfterAConflict(t *testing.T) {
	t.Parallel()
	proxy, db, direct := proxied(t)
	store := coupon.NewStore(db)
	mustCreate(t, coupon.NewStore(direct), 1, 5)
	for range 3 {
		proxy.Refuse(commit, faultproxy.MySQLError(1213, "lost"))
	}
	if c, err := store.Restock(t.Context(), 1, 4, admin); err != nil || c.Stock != 9 {
		t.Fatalf("restock: %+v, %v", c, err)
	}
	c, err := coupon.NewStore(direct).Find(t.Context(), 1)
	changes, changesErr := store.Changes(t.Context(), 1, 0, 10)
	if err != nil || changesErr != nil || c.Stock != 9 || c.InitialStock != 9 || len(changes) != 2 {
		t.Errorf("%+v, %v, changes %+v, %v", c, err, changes, changesErr)
	}
}

// Between the two queries of a list an administrator may delete a coupon, or a proxy choose a
// server that lags.
func TestListLeavesOutACouponThatIsGone(t *testing.T) {
	t.Parallel()
	proxy, db, direct := proxied(t)
	for id := range int64(3) {
		mustCreate(t, coupon.NewStore(direct), id+1, 5)
	}
	held, listed := proxy.Hold("SELECT c.*, u.stock"), make(chan []coupon.Coupon, 1)
	go func() {
		coupons, err := coupon.NewStore(db).List(context.Background(), 0, 10)
		if err != nil {
			t.Error(err)
		}
		listed <- coupons
	}()
	check.Eventually(t, "the coupons are read", held.Caught)
	direct.MustExec(`DELETE FROM coupons WHERE id = 2`)
	held.Deliver()
	if coupons := <-listed; len(coupons) != 2 || coupons[0].ID != 3 || coupons[1].ID != 1 {
		t.Errorf("%+v, want coupons 3 and 1", coupons)
	}
}
