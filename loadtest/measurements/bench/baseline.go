package bench

import (
	"context"
	"crypto/rand"
	"database/sql"
	_ "embed"
	"errors"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/go-chi/chi/v5"
	"github.com/go-sql-driver/mysql"
	"github.com/redis/go-redis/v9"

	"example.com/flashsale/internal/connect"
)

// A baseline is the articles' flow in a plain handler: no tokens, no
// validation, no metrics, no retries. The comparison shows what the service
// itself costs. Each technique can be switched on alone, which shows what it
// brings.
type baseline struct {
	db         *sql.DB
	rdb        redis.Cmdable
	techniques []string // those switched on
	coupons    sync.Map // id → window; windows do not change during a run
	ids        idBlock
	pools      sync.Map // coupon → *unitPool
}

// The techniques that the variable TECHNIQUES can list.
const (
	interpolate = "interpolate"  // arguments in the statement: one round trip instead of two
	insertFirst = "insert first" // locks the hot coupon row last
	idBlocks    = "id blocks"    // fetches a thousand numbers at once
	pipelining  = "pipelining"   // sends Redis commands of concurrent requests together
	oneRequest  = "one request"  // see commitInOneRequest
	unitRows    = "unit rows"    // see commitUnit
)

// The pools are as large as the service's.
const baselineConns, baselineRedisConns = 24, 32

func newBaseline() (*baseline, error) {
	b := &baseline{techniques: strings.Split(os.Getenv("TECHNIQUES"), ",")}
	var err error
	if b.db, err = b.openMySQL(os.Getenv("MYSQL_DSN")); err != nil {
		return nil, err
	}
	opts, err := redis.ParseURL(os.Getenv("REDIS_URL"))
	if err != nil {
		return nil, err
	}
	opts.PoolSize = baselineRedisConns
	rdb := redis.NewClient(opts)
	b.rdb = rdb
	if b.has(pipelining) {
		b.rdb, err = rdb.AutoPipeline()
	}
	return b, err
}

func (b *baseline) openMySQL(dsn string) (*sql.DB, error) {
	if b.has(unitRows) { // READ COMMITTED, as Shopify has it: no gap is locked
		db, err := connect.MySQL(dsn, baselineConns)
		if err != nil {
			return nil, err
		}
		return db.DB, nil
	}
	cfg, err := mysql.ParseDSN(dsn)
	if err != nil {
		return nil, err
	}
	cfg.ParseTime, cfg.InterpolateParams, cfg.MultiStatements = true, b.has(interpolate), b.has(oneRequest)
	connector, err := mysql.NewConnector(cfg)
	if err != nil {
		return nil, err
	}
	db := sql.OpenDB(connector)
	db.SetMaxOpenConns(baselineConns)
	db.SetMaxIdleConns(baselineConns)
	return db, nil
}

func (b *baseline) has(technique string) bool { return slices.Contains(b.techniques, technique) }

var errSoldOut = errors.New("sold out")

// handleClaim is the handler of POST /coupons/{id}/orders.
func (b *baseline) handleClaim(w http.ResponseWriter, r *http.Request) {
	couponID, err := strconv.ParseInt(chi.URLParam(r, "id"), 10, 64)
	if err != nil {
		http.Error(w, "no such coupon", http.StatusNotFound)
		return
	}
	userID, err := strconv.ParseInt(r.Header.Get("X-User"), 10, 64)
	if err != nil {
		http.Error(w, "X-User is not a user id", http.StatusUnauthorized)
		return
	}
	orderID, err := b.claim(r.Context(), userID, couponID)
	switch {
	case errors.Is(err, errSoldOut):
		http.Error(w, `{"code":"sold_out"}`, http.StatusConflict)
	case err != nil:
		http.Error(w, err.Error(), http.StatusServiceUnavailable)
	default:
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusCreated)
		fmt.Fprintf(w, `{"id":"%d","coupon_id":"%d","user_id":"%d"}`, orderID, couponID, userID)
	}
}

// unlock deletes a key if its value is still the owner.
//
//go:embed unlock.lua
var unlockLua string

var unlock = redis.NewScript(unlockLua)

// claim checks the sale window, locks the user, commits the order and unlocks.
func (b *baseline) claim(ctx context.Context, userID, couponID int64) (int64, error) {
	if err := b.checkWindow(ctx, couponID); err != nil {
		return 0, err
	}
	key, owner := "redis_lock:userId:"+strconv.FormatInt(userID, 10), rand.Text()
	locked, err := b.rdb.SetNX(ctx, key, owner, 30*time.Second).Result()
	if err != nil {
		return 0, err
	}
	if !locked {
		return 0, errors.New("claim in progress")
	}
	defer unlock.Run(context.WithoutCancel(ctx), b.rdb, []string{key}, owner)
	id, err := b.nextID(ctx)
	if err != nil {
		return 0, err
	}
	return id, b.commit(ctx, id, userID, couponID)
}

type window struct{ begin, end time.Time }

func (b *baseline) checkWindow(ctx context.Context, couponID int64) error {
	cached, ok := b.coupons.Load(couponID)
	if !ok {
		var w window
		const q = `SELECT begin_time, end_time FROM coupons WHERE id = ?`
		if err := b.db.QueryRowContext(ctx, q, couponID).Scan(&w.begin, &w.end); err != nil {
			return err
		}
		cached, _ = b.coupons.LoadOrStore(couponID, w)
	}
	if now, w := time.Now(), cached.(window); now.Before(w.begin) || now.After(w.end) {
		return errors.New("not on sale")
	}
	return nil
}
