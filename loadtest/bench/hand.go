package main

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
)

// A hand is the articles' flow as one writes it by hand, without a service
// around it: no tokens, no validation, no metrics, no retries. It is what the
// service's own cost is measured against; and because its parts can be had in
// the articles' way or in ours, one by one, it tells what each of them brings.
type hand struct {
	db      *sql.DB
	rdb     redis.Cmdable
	better  []string // the techniques in use
	coupons sync.Map // id → window: they do not change here
	block   block
}

// The techniques that TECHNIQUES can name.
const (
	interpolate = "interpolate"  // arguments in the statement: one round trip instead of two
	insertFirst = "insert first" // the hot row is locked last
	idBlocks    = "id blocks"    // of a thousand
	pipelining  = "pipelining"   // Redis commands of all requests in few round trips
)

func newHand() (*hand, error) {
	h := &hand{better: strings.Split(os.Getenv("TECHNIQUES"), ",")}
	cfg, err := mysql.ParseDSN(os.Getenv("MYSQL_DSN"))
	if err != nil {
		return nil, err
	}
	cfg.ParseTime, cfg.InterpolateParams = true, h.has(interpolate)
	connector, err := mysql.NewConnector(cfg)
	if err != nil {
		return nil, err
	}
	h.db = sql.OpenDB(connector)
	h.db.SetMaxOpenConns(handConns)
	h.db.SetMaxIdleConns(handConns)
	opts, err := redis.ParseURL(os.Getenv("REDIS_URL"))
	if err != nil {
		return nil, err
	}
	opts.PoolSize = handRedisConns
	rdb := redis.NewClient(opts)
	h.rdb = rdb
	if h.has(pipelining) {
		h.rdb, err = rdb.AutoPipeline()
	}
	return h, err
}

// The pools are as large as the service's.
const handConns, handRedisConns = 24, 32

func (h *hand) has(technique string) bool { return slices.Contains(h.better, technique) }

var errSoldOut = errors.New("sold out")

func (h *hand) claim(w http.ResponseWriter, r *http.Request) {
	couponID, err := strconv.ParseInt(chi.URLParam(r, "id"), 10, 64)
	if err != nil {
		http.Error(w, "no such coupon", http.StatusNotFound)
		return
	}
	userID, err := strconv.ParseInt(r.Header.Get("X-User"), 10, 64)
	if err != nil {
		http.Error(w, "who are you", http.StatusUnauthorized)
		return
	}
	orderID, err := h.locked(r.Context(), userID, couponID)
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

// unlock deletes a key that is still the owner's.
//
//go:embed unlock.lua
var unlockLua string

var unlock = redis.NewScript(unlockLua)

// locked is the articles' claim: coupon, window, lock, transaction, unlock.
func (h *hand) locked(ctx context.Context, userID, couponID int64) (int64, error) {
	if err := h.open(ctx, couponID); err != nil {
		return 0, err
	}
	key, owner := "redis_lock:userId:"+strconv.FormatInt(userID, 10), rand.Text()
	got, err := h.rdb.SetNX(ctx, key, owner, 30*time.Second).Result()
	if err != nil {
		return 0, err
	}
	if !got {
		return 0, errors.New("claim in progress")
	}
	defer unlock.Run(context.WithoutCancel(ctx), h.rdb, []string{key}, owner)
	id, err := h.nextID(ctx)
	if err != nil {
		return 0, err
	}
	return id, h.commit(ctx, id, userID, couponID)
}

type window struct{ begin, end time.Time }

func (h *hand) open(ctx context.Context, couponID int64) error {
	w, ok := h.coupons.Load(couponID)
	if !ok {
		var of window
		const q = `SELECT begin_time, end_time FROM coupons WHERE id = ?`
		if err := h.db.QueryRowContext(ctx, q, couponID).Scan(&of.begin, &of.end); err != nil {
			return err
		}
		w, _ = h.coupons.LoadOrStore(couponID, of)
	}
	if now, of := time.Now(), w.(window); now.Before(of.begin) || now.After(of.end) {
		return errors.New("not on sale")
	}
	return nil
}

func (h *hand) commit(ctx context.Context, id, userID, couponID int64) error {
	tx, err := h.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	steps := []func(context.Context, *sql.Tx, int64, int64, int64) error{unclaimed, takeStock, insert}
	if h.has(insertFirst) { // the unique key says what the count would
		steps = []func(context.Context, *sql.Tx, int64, int64, int64) error{insert, takeStock}
	}
	for _, step := range steps {
		if err := step(ctx, tx, id, userID, couponID); err != nil {
			return err
		}
	}
	return tx.Commit()
}

func unclaimed(ctx context.Context, tx *sql.Tx, _, userID, couponID int64) error {
	const q = `SELECT COUNT(*) FROM coupon_orders WHERE coupon_id = ? AND user_id = ?`
	var n int
	if err := tx.QueryRowContext(ctx, q, couponID, userID).Scan(&n); err != nil {
		return err
	}
	if n > 0 {
		return errors.New("already claimed")
	}
	return nil
}

func takeStock(ctx context.Context, tx *sql.Tx, _, _, couponID int64) error {
	const q = `UPDATE coupons SET stock = stock - 1 WHERE id = ? AND stock > 0`
	result, err := tx.ExecContext(ctx, q, couponID)
	if err != nil {
		return err
	}
	if n, err := result.RowsAffected(); err != nil || n == 0 {
		return errors.Join(err, errSoldOut)
	}
	return nil
}

func insert(ctx context.Context, tx *sql.Tx, id, userID, couponID int64) error {
	const q = `INSERT INTO coupon_orders (id, coupon_id, user_id, created_at) VALUES (?, ?, ?, ?)`
	_, err := tx.ExecContext(ctx, q, id, couponID, userID, time.Now().UTC())
	return err
}

// A block is a run of numbers taken from Redis at once.
type block struct {
	mu        sync.Mutex
	next, end int64
}

// nextID is the articles' id: seconds before, the number of the day behind.
func (h *hand) nextID(ctx context.Context) (int64, error) {
	if !h.has(idBlocks) {
		n, err := h.rdb.Incr(ctx, idKey()).Result()
		return stamp(n), err
	}
	const size = 1000
	b := &h.block
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.next == b.end {
		last, err := h.rdb.IncrBy(ctx, idKey(), size).Result()
		if err != nil {
			return 0, err
		}
		b.next, b.end = last-size, last
	}
	b.next++
	return stamp(b.next), nil
}

func idKey() string { return "icr:order:" + time.Now().UTC().Format("2006:01:02") }

func stamp(n int64) int64 {
	epoch := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC).Unix()
	return (time.Now().Unix()-epoch)<<32 | n
}
