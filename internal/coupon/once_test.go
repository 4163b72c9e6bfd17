package coupon_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jmoiron/sqlx"

	"example.com/flashsale/internal/check"
	"example.com/flashsale/internal/connect"
	"example.com/flashsale/internal/coupon"
	"example.com/flashsale/internal/faultproxy"
	"example.com/flashsale/internal/lab/labtest"
)

// actions are the changes that a Store makes. Coupon 1 exists.
var actions = map[string]func(ctx context.Context, s *coupon.Store, adminID int64) (coupon.Coupon, error){
	coupon.ActionCreate: func(ctx context.Context, s *coupon.Store, adminID int64) (coupon.Coupon, error) {
		c, err := coupon.New(ids.Add(1), "new", begin, end, 4, time.Now())
		if err == nil {
			c, err = s.Create(ctx, c, adminID)
		}
		return c, err
	},
	coupon.ActionRestock: func(ctx context.Context, s *coupon.Store, adminID int64) (coupon.Coupon, error) {
		return s.Restock(ctx, 1, 50, adminID)
	},
	coupon.ActionUpdate: func(ctx context.Context, s *coupon.Store, adminID int64) (coupon.Coupon, error) {
		name := "50 off"
		return s.Update(ctx, 1, coupon.Update{Name: &name}, adminID)
	},
}

var ids atomic.Int64

func init() { ids.Store(100) }

// wantChanges checks how many changes db has beside the creation of coupon 1.
func wantChanges(t *testing.T, db *sqlx.DB, want int) {
	t.Helper()
	if all, err := coupon.NewStore(db).Changes(t.Context(), 0, 0, 100); err != nil || len(all) != 1+want {
		t.Errorf("%d changes, %v; want %d", len(all)-1, err, want)
	}
}

func TestRepeatedChangeHasTheFirstResult(t *testing.T) {
	t.Parallel()
	for name, change := range actions {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, db := newStore(t, 5)
			first, err := change(t.Context(), s.Once("k"), admin)
			check.NoError(t, err)
			later := end.Add(time.Hour)
			for _, id := range []int64{1, first.ID} { // whatever has happened since
				_, err := s.Update(t.Context(), id, coupon.Update{EndTime: &later}, admin)
				check.NoError(t, err)
			}
			db.MustExec("UPDATE coupons SET stock = 0")
			again, err := change(t.Context(), s.Once("k"), admin)
			if diff := cmp.Diff(first, again); diff != "" || err != nil {
				t.Errorf("%v: %s", err, diff)
			}
			wantChanges(t, db, 3)
			for i, other := range []*coupon.Store{s.Once("K"), s.Once("k "), s, s} {
				if _, err := change(t.Context(), other, admin); err != nil {
					t.Errorf("another key, %d: %v", i, err)
				}
			}
			if _, err := change(t.Context(), s.Once("k"), admin+1); err != nil {
				t.Errorf("another administrator: %v", err)
			}
			wantChanges(t, db, 8)
		})
	}
}

// During an update instances of two versions run: what tells a request from others stays as it is, and a result may
// lack what an older version did not know.
func TestKeyOfAnotherVersionHasItsResult(t *testing.T) {
	t.Parallel()
	for name, request := range map[string]string{
		coupon.ActionCreate: `["create",{"ID":0,"Name":"new","BeginTime":"2026-11-11T00:00:00Z",` +
			`"EndTime":"2026-11-11T01:00:00Z","InitialStock":4,"Stock":4,"Segments":1,"CreatedAt":"0001-01-01T00:00:00Z",` +
			`"Revision":0,"Version":0,"PerUser":1,"HoldSeconds":0,"Returnable":false}]`,
		coupon.ActionRestock: `["restock",1,50]`,
		coupon.ActionUpdate:  `["update",1,{"Name":"50 off","BeginTime":null,"EndTime":null}]`,
	} {
		s, db := newStore(t, 5)
		db.MustExec(`INSERT INTO coupon_change_keys VALUES
			(?, UNHEX(SHA2('k', 256)), UNHEX(SHA2(?, 256)), '{"ID":7}', UTC_TIMESTAMP(3))`, admin, request)
		got, err := actions[name](t.Context(), s.Once("k"), admin)
		if diff := cmp.Diff(coupon.Coupon{ID: 7, Rules: coupon.Rules{PerUser: 1}}, got); diff != "" || err != nil {
			t.Errorf("%s: %v: %s", name, err, diff)
		}
	}
}

func TestFailedChangeLeavesItsKeyUnused(t *testing.T) {
	t.Parallel()
	s, db := newStore(t, 5)
	for _, test := range []struct {
		id   int64
		add  int
		want error
	}{{2, 5, coupon.ErrNotFound}, {1, coupon.MaxStock - 4, coupon.ErrStockLimit}, {1, coupon.MaxStock - 5, nil}} {
		if _, err := s.Once("k").Restock(t.Context(), test.id, test.add, admin); !errors.Is(err, test.want) {
			t.Errorf("got %v, want %v", err, test.want)
		}
	}
	wantChanges(t, db, 1)
}

// Half of the requests come to another instance.
func TestSimultaneousRequestsWithAKeyMakeOneChange(t *testing.T) {
	t.Parallel()
	for name, change := range actions {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dsn := labtest.DSN(t)
			instances := []*sqlx.DB{labtest.Open(t, dsn, connect.ShortTransactions), labtest.Open(t, dsn)}
			mustCreate(t, coupon.NewStore(instances[0]), 1, 5)
			results := make([]coupon.Coupon, 50)
			check.AtOnce(len(results), func(i int) {
				err := coupon.ErrKeyInProgress
				for errors.Is(err, coupon.ErrKeyInProgress) {
					results[i], err = change(t.Context(), coupon.NewStore(instances[i%2]).Once("k"), admin)
				}
				if err != nil {
					t.Error(err)
				}
			})
			for i, result := range results {
				if diff := cmp.Diff(results[0], result); diff != "" {
					t.Errorf("%d: %s", i, diff)
				}
			}
			wantChanges(t, instances[0], 1)
		})
	}
}

// The first request waits for the coupon, which another transaction has locked.
func TestKeyInProgressIsNotWaitedFor(t *testing.T) {
	t.Parallel()
	db := labtest.DB(t)
	mustCreate(t, coupon.NewStore(db), 1, 5)
	tx := db.MustBegin()
	tx.MustExec("UPDATE coupons SET stock = stock - 1")
	restock := func() error {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		_, err := coupon.NewStore(db).Once("restock").Restock(ctx, 1, 5, admin)
		return err
	}
	first := check.Begin(restock)
	other, err := db.Connx(t.Context())
	check.NoError(t, err)
	defer other.Close()
	mustExec(t, other, "SET SESSION TRANSACTION ISOLATION LEVEL READ UNCOMMITTED")
	check.Eventually(t, "the first request has its key", func() bool {
		var n int
		return other.GetContext(t.Context(), &n, "SELECT COUNT(*) FROM coupon_change_keys") == nil && n == 2
	})
	check.ErrorIs(t, restock(), coupon.ErrKeyInProgress)
	check.NoError(t, tx.Rollback())
	check.NoError(t, errors.Join(<-first, restock()))
	wantChanges(t, db, 1)
}

// As a dump locks it. MariaDB says of NOWAIT what it says of a key that another request has.
func TestChangeWithoutAKeyIsNotInProgressWhileTheTableIsLocked(t *testing.T) {
	t.Parallel()
	s, db := newStore(t, 5)
	other, err := db.Connx(t.Context())
	check.NoError(t, err)
	defer other.Close()
	mustExec(t, other, "LOCK TABLES coupon_change_keys READ")
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	if _, err := s.Restock(ctx, 1, 50, admin); err == nil || errors.Is(err, coupon.ErrKeyInProgress) {
		t.Errorf("got %v, want the end of the wait", err)
	}
}

// COMMIT is executed and its reply lost: the change is read back, by a key that the
// service has chosen if the client has none.
func TestChangeWithALostReplyIsReadBack(t *testing.T) {
	t.Parallel()
	for name, change := range actions {
		for _, key := range []string{"", "k"} {
			t.Run(name+key, func(t *testing.T) {
				t.Parallel()
				proxy, db, direct := proxied(t)
				mustCreate(t, coupon.NewStore(direct), 1, 5)
				proxy.Inject(faultproxy.LoseReply, commit, 1)
				made, err := change(t.Context(), coupon.NewStore(db).Once(key), admin)
				if err != nil || proxy.Hits() != 1 {
					t.Fatalf("%d replies lost: %v", proxy.Hits(), err)
				}
				if stored, err := coupon.NewStore(direct).Find(t.Context(), made.ID); err != nil ||
					stored.InitialStock != made.InitialStock || stored.Name != made.Name {
					t.Errorf("returned %+v, stored %+v, %v", made, stored, err)
				}
				wantChanges(t, direct, 1)
			})
		}
	}
}

// Reading back fails as well, or finds nothing. Whether COMMIT was executed or not,
// the repetition makes one change of the two.
func TestChangeThatCannotBeReadBackIsUnknown(t *testing.T) {
	t.Parallel()
	for name, change := range actions {
		for fault, inject := range map[string]func(*faultproxy.Proxy){
			"request lost":  func(p *faultproxy.Proxy) { p.Inject(faultproxy.LoseRequest, commit, 1) },
			"server silent": func(p *faultproxy.Proxy) { p.PartitionAfter(commit) },
		} {
			for key, want := range map[string]error{"": coupon.ErrUnknown, "k": coupon.ErrUnknownWithKey} {
				t.Run(fmt.Sprint(name, fault, key), func(t *testing.T) {
					t.Parallel()
					proxy, db, direct := proxied(t)
					mustCreate(t, coupon.NewStore(direct), 1, 5)
					inject(proxy)
					ctx, cancel := context.WithCancel(t.Context())
					defer cancel()
					if fault == "server silent" {
						go func() {
							for ctx.Err() == nil && !proxy.Partitioned() {
								time.Sleep(time.Millisecond)
							}
							cancel()
						}()
					}
					if _, err := change(ctx, coupon.NewStore(db).Once(key), admin); !errors.Is(err, want) {
						t.Errorf("got %v, want %v", err, want)
					}
					proxy.Heal()
					if key == "" {
						return
					}
					check.Eventually(t, "a result", func() bool {
						_, err := change(t.Context(), coupon.NewStore(direct).Once(key), admin)
						return err == nil
					})
					wantChanges(t, direct, 1)
				})
			}
		}
	}
}

func TestOldKeysAreForgotten(t *testing.T) {
	t.Parallel()
	s, db := newStore(t, 5)
	for i := range 12 {
		_, err := s.Once(fmt.Sprint(i)).Restock(t.Context(), 1, 5, admin)
		check.NoError(t, err)
	}
	count := func() (n int) {
		check.NoError(t, db.Get(&n, "SELECT COUNT(*) FROM coupon_change_keys"))
		return n
	}
	db.MustExec("UPDATE coupon_change_keys SET created_at = created_at - INTERVAL 167 HOUR")
	before := count()
	mustCreate(t, s, 2, 5)
	if n := count(); n != before+1 {
		t.Errorf("%d keys after less than a week, want %d", n, before+1)
	}
	db.MustExec("UPDATE coupon_change_keys SET created_at = created_at - INTERVAL 1 HOUR")
	for id := range int64(2) {
		mustCreate(t, s, 3+id, 5)
	}
	if n := count(); n != 3 {
		t.Errorf("%d keys after a week and two changes, want those of this test's last", n)
	}
}
