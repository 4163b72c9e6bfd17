package order_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jmoiron/sqlx"
	"github.com/redis/go-redis/v9"

	"example.com/flashsale/internal/connect"
	"example.com/flashsale/internal/coupon"
	"example.com/flashsale/internal/idgen"
	"example.com/flashsale/internal/lab"
	"example.com/flashsale/internal/lock"
	"example.com/flashsale/internal/lock/redislock"
	"example.com/flashsale/internal/order"
	"example.com/flashsale/internal/order/commit"
	"example.com/flashsale/internal/order/winners"
	"example.com/flashsale/migrations"
)

// A coupon with a stock of 1 is put on sale, and two users claim it.
func ExampleClaims_Claim() {
	ctx := context.Background()
	db, batchDB, rdb, stop := privateServers(ctx)
	defer stop()

	locks := lock.New(redislock.New(rdb))
	defer locks.Close()
	store := coupon.NewStore(db)
	committer, err := commit.New(commit.GroupCommit, commit.Config{DB: db, BatchDB: batchDB})
	must(err)
	claims, err := order.New(order.Config{
		Coupons: coupon.NewCache(store, 200*time.Millisecond),
		Winners: winners.New(db), Committer: committer,
		IDs:   idgen.New(rdb, "order"),
		Locks: locks, Scope: order.PerUser, LockTTL: 30 * time.Second,
	})
	must(err)
	defer func() { must(claims.Close(ctx)) }()

	now := time.Now()
	c, err := coupon.New(1, "100 off", now, now.Add(time.Hour), 1, now)
	must(err)
	c, err = store.Create(ctx, c, 1)
	must(err)

	placed, err := claims.Claim(ctx, 42, c.ID)
	fmt.Println("user 42:", err)
	_, err = claims.Claim(ctx, 43, c.ID)
	fmt.Println("user 43:", err)

	// User 42 claims again, as after a lost reply, and gets the order's id.
	_, err = claims.Claim(ctx, 42, c.ID)
	claimed, ok := errors.AsType[*order.AlreadyClaimedError](err)
	fmt.Println("user 42:", ok && claimed.OrderID == placed.ID)
	// Output:
	// user 42: <nil>
	// user 43: coupon: sold out
	// user 42: true
}

// privateServers starts a MySQL with the schema and a Redis for one example.
func privateServers(ctx context.Context) (db, batchDB *sqlx.DB, rdb redis.UniversalClient, stop func()) {
	l, err := lab.Open()
	must(err)
	mysql, err := lab.StartMySQL(l)
	must(err)
	dsn, err := mysql.Create(ctx, "flashsale")
	must(err)
	db, err = connect.MySQL(dsn, 4, connect.ShortTransactions)
	must(err)
	must(migrations.Up(ctx, db.DB))
	batchDB, err = connect.MySQL(dsn, 4, connect.BriefLockWaits, connect.MultiStatements)
	must(err)
	server, err := lab.StartRedis(l)
	must(err)
	rdb, err = connect.Redis(server.URL, 4)
	must(err)
	return db, batchDB, rdb, func() { _, _, _, _ = db.Close(), batchDB.Close(), rdb.Close(), l.Close() }
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}
