package commit_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"

	"example.com/flashsale/internal/check"
	"example.com/flashsale/internal/coupon"
	"example.com/flashsale/internal/lab"
	"example.com/flashsale/internal/lab/labtest"
	"example.com/flashsale/internal/order"
	"example.com/flashsale/internal/order/commit"
	"example.com/flashsale/internal/order/ordertest"
)

// newMaster starts a database server with the schema, and returns it with the
// DSN of a user who may not write while the server is read-only.
func newMaster(t *testing.T) (server *lab.MySQL, dsn string) {
	t.Helper()
	server = labtest.MySQL(t)
	rootDSN, err := server.Create(t.Context(), "sale")
	check.NoError(t, err)
	db := labtest.Open(t, rootDSN)
	labtest.Migrate(t, db)
	db.MustExec(`CREATE USER app@localhost`)
	db.MustExec(`GRANT ALL ON sale.* TO app@localhost`)
	return server, strings.Replace(rootDSN, "root@", "app@", 1)
}

// After a switchover the address leads to the new master, and the open
// connections to the former, which has become read-only. Claims succeed at
// once: no connection to the former master is used twice.
func TestClaimsReachTheNewMasterAtOnce(t *testing.T) {
	t.Parallel()
	for _, strategy := range []commit.Strategy{commit.PerClaim, commit.GroupCommit} {
		t.Run(string(strategy), func(t *testing.T) {
			t.Parallel()
			former, formerDSN := newMaster(t)
			_, nextDSN := newMaster(t)
			s := ordertest.NewSaleOn(t, formerDSN)
			proxy, through := s.Proxied()
			claims := s.Instance(ordertest.WithStrategy(strategy), through)
			for _, dsn := range []string{formerDSN, nextDSN} {
				db := labtest.Open(t, dsn)
				s.Coupons, s.Orders = coupon.NewStore(db), order.NewStore(db)
				s.Coupon(1, 100)
			}
			const connections = 10
			// opens connections to the former master
			check.AtOnce(int64(connections), func(user int64) {
				ordertest.WantClaim(t, claims, user+1, 1, nil)
			})
			labtest.Open(t, former.DSN("sale")).MustExec(`SET GLOBAL read_only = 1`)
			next, err := mysql.ParseDSN(nextDSN)
			check.NoError(t, err)
			proxy.Retarget(next.Addr)

			// a connection that is used again fails again, until the end of any time
			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
			defer cancel()
			for user := range int64(5) {
				if _, err := claims.Claim(ctx, 100+user, 1); err != nil {
					t.Fatalf("after the switchover: %v", err)
				}
			}
			if a := s.Audit(1); a.Orders != 5 {
				t.Errorf("audit of the new master: %+v", a)
			}
		})
	}
}
