package winners

import (
	"context"
	"database/sql"
	"encoding/binary"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/bits-and-blooms/bloom/v3"
	"github.com/jmoiron/sqlx"

	"example.com/flashsale/internal/coupon"
	"example.com/flashsale/internal/transaction"
)

// filters holds a Bloom filter of the winners of each sold-out coupon. Such a coupon
// has no new winners until its version rises, by a restock or by units that came back,
// so each filter is loaded once per version: in the background, and one at a time.
type filters struct {
	db       *sqlx.DB
	maxBytes int // of all filters

	mu        sync.RWMutex
	byCoupon  map[int64]*filter
	bytes     int
	clearedAt time.Time // when all filters were evicted
	closed    bool

	loadTurn sync.Mutex // held while a filter is loaded
	loads    sync.WaitGroup
	loadCtx  context.Context // ends at close
	endLoads context.CancelFunc
}

type filter struct {
	version int64 // of the coupon for which it was begun
	bytes   int
	loaded  atomic.Pointer[loaded] // nil until it is loaded
}

// loaded are the users who had an order of a version of the coupon.
type loaded struct {
	version int64
	users   *bloom.BloomFilter
	next    time.Time // when another version may be loaded
}

const (
	// maxFilterBytes bounds the filters. An order needs 11 bits, so 24 million
	// fit. A coupon that needs more than half of the bytes gets no filter; its
	// claims are looked up.
	maxFilterBytes = 32 << 20
	// filterOverhead is the memory of a filter beside its bits, while it waits
	// to be loaded.
	filterOverhead = 4 << 10
	// falsePositives is the share of the users without an order whose claims are
	// looked up nevertheless.
	falsePositives = 0.005
	// clearInterval is the time until all filters are evicted for one that does not fit.
	// Without it, coupons that do not fit together would be loaded and evicted all the
	// time.
	clearInterval = time.Minute
	// loadShare is the part of the time for which the orders of a coupon may be read,
	// if units come back all the time. Meanwhile its claims are looked up.
	loadShare = 100
	// loadTimeout bounds the reading of one coupon's orders.
	loadTimeout = 30 * time.Second
	// loadPause is the time until a load that failed is tried again.
	loadPause = time.Second
)

func newFilters(db *sqlx.DB, maxBytes int) *filters {
	fs := &filters{db: db, maxBytes: maxBytes, byCoupon: map[int64]*filter{}, clearedAt: time.Now()}
	fs.loadCtx, fs.endLoads = context.WithCancel(context.Background())
	return fs
}

// exclude reports whether the filter of c, which was seen sold out, proves that
// the user has no order. If c has no filter, exclude begins to load it and
// returns false.
func (fs *filters) exclude(c coupon.Coupon, userID int64) bool {
	fs.mu.RLock()
	f := fs.byCoupon[c.ID]
	fs.mu.RUnlock()
	if f == nil || f.isOlder(c) {
		fs.beginLoad(c)
		return false
	}
	l := f.loaded.Load()
	return l != nil && !l.users.Test(filterKey(userID))
}

// beginLoad loads the filter of c in the background, unless it has been begun or
// does not fit.
func (fs *filters) beginLoad(c coupon.Coupon) {
	bits, hashes := bloom.EstimateParameters(uint(max(1, c.InitialStock)), falsePositives)
	f := &filter{version: c.Version, bytes: int(bits/8) + filterOverhead}
	fs.mu.Lock()
	defer fs.mu.Unlock()
	before := fs.byCoupon[c.ID]
	if fs.closed || before != nil && !before.mayGiveWay(c) {
		return
	}
	fs.evict(c.ID)
	if !fs.makeRoom(f.bytes) {
		return
	}
	fs.byCoupon[c.ID] = f
	fs.bytes += f.bytes
	fs.loads.Go(func() {
		if err := fs.load(c.ID, f, bits, hashes); err != nil {
			fs.abandon(c.ID, f)
		}
	})
}

// isOlder reports whether f says nothing of c.
func (f *filter) isOlder(c coupon.Coupon) bool {
	l := f.loaded.Load()
	return f.version < c.Version && (l == nil || l.version < c.Version)
}

// mayGiveWay reports whether a filter for c may be loaded instead of f.
func (f *filter) mayGiveWay(c coupon.Coupon) bool {
	l := f.loaded.Load()
	return f.isOlder(c) && (l == nil || time.Now().After(l.next))
}

// makeRoom reports whether n more bytes fit. It evicts all filters, which are loaded again
// when they are needed, at most once per interval.
func (fs *filters) makeRoom(n int) bool {
	if n > fs.maxBytes/2 {
		return false
	}
	if fs.bytes+n > fs.maxBytes && time.Since(fs.clearedAt) >= clearInterval {
		clear(fs.byCoupon)
		fs.bytes, fs.clearedAt = 0, time.Now()
	}
	return fs.bytes+n <= fs.maxBytes
}

func (fs *filters) evict(couponID int64) {
	if f := fs.byCoupon[couponID]; f != nil {
		fs.bytes -= f.bytes
		delete(fs.byCoupon, couponID)
	}
}

// abandon removes a filter that could not be loaded, after a pause. A later
// claim begins to load it again.
func (fs *filters) abandon(couponID int64, f *filter) {
	_ = transaction.Pause(fs.loadCtx, loadPause)
	fs.mu.Lock()
	defer fs.mu.Unlock()
	if fs.byCoupon[couponID] == f { // it may have been evicted
		fs.evict(couponID)
	}
}

// errNotSoldOut says that a coupon's orders may not be complete.
var errNotSoldOut = errors.New("the coupon has stock, or was restocked")

// load reads the coupon's users into f. One statement reads the stock and the
// orders: two could be answered by two replicas, and the orders of the one that
// lags would be taken for complete.
func (fs *filters) load(couponID int64, f *filter, bits, hashes uint) error {
	const q = `
		SELECT o.user_id, u.version FROM (` + coupon.Stock + `) u LEFT JOIN coupon_orders o ON o.coupon_id = ?
		WHERE u.version >= ? AND u.stock < 1`
	fs.loadTurn.Lock()
	defer fs.loadTurn.Unlock()
	ctx, cancel := context.WithTimeout(fs.loadCtx, loadTimeout)
	defer cancel()
	start := time.Now()
	rows, err := fs.db.QueryContext(ctx, q, couponID, couponID, couponID, f.version)
	if err != nil {
		return fmt.Errorf("select users: %w", err)
	}
	defer rows.Close()
	l, n := &loaded{users: bloom.New(bits, hashes)}, 0
	for ; rows.Next(); n++ {
		var userID sql.NullInt64 // NULL in the single row of a coupon without orders
		if err := rows.Scan(&userID, &l.version); err != nil {
			return fmt.Errorf("select users: %w", err)
		}
		l.users.Add(filterKey(userID.Int64))
	}
	if err := rows.Err(); err != nil {
		return fmt.Errorf("select users: %w", err)
	}
	if n == 0 {
		return errNotSoldOut
	}
	l.next = time.Now().Add(loadShare * time.Since(start))
	f.loaded.Store(l)
	return nil
}

func filterKey(userID int64) []byte {
	return binary.LittleEndian.AppendUint64(make([]byte, 0, 8), uint64(userID))
}

// close ends all loads and returns when they have ended. No load begins later.
func (fs *filters) close() {
	fs.mu.Lock()
	fs.closed = true
	fs.mu.Unlock()
	fs.endLoads()
	fs.loads.Wait()
}
