package coupon_test

import (
	"errors"
	"testing"
	"time"

	"github.com/jmoiron/sqlx"

	"example.com/flashsale/internal/check"
	"example.com/flashsale/internal/coupon"
	"example.com/flashsale/internal/lab/labtest"
)

func TestConcurrentFindsReadTheStoreOnce(t *testing.T) {
	t.Parallel()
	s, db := newStore(t, 5)
	cache := coupon.NewCache(s, time.Hour)
	coupon.AwaitSlowReads(cache)
	before := labtest.SessionStatus(t, db, "Com_select")
	check.AtOnce(200, func(int) {
		if c, err := cache.Find(t.Context(), 1); err != nil || c.Stock != 5 {
			t.Errorf("%+v, %v", c, err)
		}
	})
	if n := labtest.SessionStatus(t, db, "Com_select") - before; n != 1 {
		t.Errorf("%d SELECTs, want 1", n)
	}
}

func TestSoldOutMarkExpires(t *testing.T) {
	t.Parallel()
	s, _ := newStore(t, 5)
	short := coupon.NewCache(s, time.Second)
	found := mustFind(t, short)
	check.Eventually(t, "the entry expires, however often it is marked", func() bool {
		short.MarkSoldOut(found)
		return mustFind(t, short).Stock > 0
	})

	cache := coupon.NewCache(s, time.Hour)
	cache.MarkSoldOut(mustFind(t, cache))
	if got := mustFind(t, cache).Stock; got != 0 {
		t.Errorf("stock %d after MarkSoldOut, want 0", got)
	}
}

// A claim and a read of the store that began before units were added end after it.
func TestNothingFromBeforeARestockHidesIt(t *testing.T) {
	t.Parallel()
	for name, add := range map[string]func(*coupon.Store, *sqlx.DB, *coupon.Cache) (coupon.Coupon, error){
		"restock": func(s *coupon.Store, _ *sqlx.DB, cache *coupon.Cache) (coupon.Coupon, error) {
			return s.Telling(cache.Put).Restock(t.Context(), 1, 5, admin)
		},
		"return": func(_ *coupon.Store, db *sqlx.DB, cache *coupon.Cache) (coupon.Coupon, error) {
			db.MustExec("UPDATE coupons SET stock = 10, version = version + 1")
			return cache.Reload(t.Context(), 1)
		},
	} {
		s, db := newStore(t, 5)
		cache := coupon.NewCache(s, time.Hour)
		before := mustFind(t, cache)
		after, err := add(s, db, cache)
		check.NoError(t, err)
		cache.MarkSoldOut(before) // by a transaction that ended before
		if got := mustFind(t, cache).Stock; got != 10 {
			t.Errorf("%s: stock %d after a late MarkSoldOut, want 10", name, got)
		}
		coupon.StoreLoaded(cache, before) // by a read that ended before
		if got := mustFind(t, cache).Stock; got != 10 {
			t.Errorf("%s: stock %d after a late read, want 10", name, got)
		}
		cache.MarkSoldOut(after)
		if got := mustFind(t, cache).Stock; got != 0 {
			t.Errorf("%s: stock %d after MarkSoldOut of the coupon as it is, want 0", name, got)
		}
	}
}

// A read that began before a change, or that a replica served, ends after it.
func TestNothingFromBeforeAnUpdateHidesIt(t *testing.T) {
	t.Parallel()
	s, db := newStore(t, 5)
	cache := coupon.NewCache(s, time.Hour)
	before := mustFind(t, cache)
	early := begin.Add(time.Minute)
	updated, err := s.Update(t.Context(), 1, coupon.Update{EndTime: &early}, admin)
	check.NoError(t, err)
	cache.Put(updated)
	coupon.StoreLoaded(cache, before)
	if got := mustFind(t, cache).EndTime; !got.Equal(early) {
		t.Errorf("the sale ends at %s after a late read, want %s", got, early)
	}
	db.MustExec("UPDATE coupons SET end_time = ?", end) // a replica that lags
	db.MustExec("DELETE FROM coupon_changes WHERE action = ?", coupon.ActionUpdate)
	if got, err := cache.Reload(t.Context(), 1); err != nil || !got.EndTime.Equal(early) {
		t.Errorf("reloaded %+v, %v; want the end %s", got, err, early)
	}
}

// A database that was restored from a backup has earlier revisions than the cache.
func TestLaterRevisionExpires(t *testing.T) {
	t.Parallel()
	s := coupon.NewStore(labtest.DB(t))
	c := mustCreate(t, s, 1, 5)
	cache := coupon.NewCache(s, 100*time.Millisecond)
	c.Revision, c.Stock = 1<<40, 0
	cache.Put(c)
	check.Eventually(t, "the store's coupon", func() bool { return mustFind(t, cache).Stock == 5 })
}

func mustFind(t *testing.T, c *coupon.Cache) coupon.Coupon {
	t.Helper()
	got, err := c.Find(t.Context(), 1)
	check.NoError(t, err)
	return got
}

func TestCacheKeepsNoErrors(t *testing.T) {
	t.Parallel()
	s := coupon.NewStore(labtest.DB(t))
	cache := coupon.NewCache(s, time.Hour)
	if _, err := cache.Find(t.Context(), 1); !errors.Is(err, coupon.ErrNotFound) {
		t.Fatalf("unknown coupon: %v", err)
	}
	mustCreate(t, s, 1, 5)
	if _, err := cache.Find(t.Context(), 1); err != nil {
		t.Errorf("after its creation: %v", err)
	}
}

func TestExpiredEntriesAreEvicted(t *testing.T) {
	t.Parallel()
	cache := coupon.NewCache(nil, 0)
	for id := range int64(coupon.MinEvictAt + 1) {
		cache.Put(coupon.Coupon{ID: id, InitialStock: 1})
	}
	if n := coupon.Entries(cache); n > coupon.MinEvictAt {
		t.Errorf("%d coupons are cached, want at most %d", n, coupon.MinEvictAt)
	}
}

// createCoupons creates coupons with the ids 1 to n, and a stock equal to their id.
func createCoupons(tb testing.TB, db *sqlx.DB, n int) {
	tb.Helper()
	const q = `INSERT INTO coupons (id, name, begin_time, end_time, initial_stock, stock, created_at)
		VALUES (:id, :name, :begin_time, :end_time, :initial_stock, :stock, :created_at)`
	coupons := make([]coupon.Coupon, n)
	for i := range coupons {
		coupons[i] = mustNew(tb, int64(i+1), i+1)
	}
	_, err := db.NamedExecContext(tb.Context(), q, coupons)
	check.NoError(tb, err)
}

// With many coupons on sale no entry has expired when the next one is added.
func TestManyCouponsAreCachedInLinearTime(t *testing.T) {
	t.Parallel()
	cache := coupon.NewCache(nil, time.Hour)
	start := time.Now()
	for id := range int64(8 * coupon.MinEvictAt) {
		cache.Put(coupon.Coupon{ID: id, InitialStock: 1})
	}
	if took := time.Since(start); took > 5*time.Second {
		t.Errorf("it took %s", took)
	}
}

// The store replies a TTL after the request. What it has read is that old.
func TestSlowReadIsNotCachedForLonger(t *testing.T) {
	t.Parallel()
	const ttl = 500 * time.Millisecond
	s, db := newStore(t, 5)
	conn, err := db.Connx(t.Context())
	check.NoError(t, err)
	defer conn.Close()
	mustExec(t, conn, "LOCK TABLES coupons WRITE, coupon_segments WRITE")
	cache := coupon.NewCache(s, ttl)
	found := make(chan coupon.Coupon)
	go func() { c, _ := cache.Find(t.Context(), 1); found <- c }()
	check.Eventually(t, "the read waits", func() bool { return labtest.Executing(t, db, "%FROM coupons%") == 1 })
	time.Sleep(ttl)
	mustExec(t, conn, "UNLOCK TABLES")
	if c := <-found; c.Stock != 5 {
		t.Fatalf("found %+v", c)
	}
	mustExec(t, conn, "UPDATE coupons SET stock = 3")
	if got := mustFind(t, cache).Stock; got != 3 {
		t.Errorf("stock %d, a TTL after it was requested; want the current 3", got)
	}
}

func mustExec(t *testing.T, conn *sqlx.Conn, q string) {
	t.Helper()
	_, err := conn.ExecContext(t.Context(), q)
	check.NoError(t, err)
}
