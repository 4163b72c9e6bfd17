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
)

// filters holds a Bloom filter of the winners of each sold-out coupon. The
// orders of such a coupon do not change until a restock, so each filter is
// loaded once per restock: in the background, and one at a time.
type filters struct {
	db       *sqlx.DB
	maxBytes int // of all filters

	mu       sync.RWMutex
	byCoupon map[int64]*filter
	bytes    int
	sweptAt  time.Time // when unused filters were evicted
	closed   bool

	loadTurn sync.Mutex // held while a filter is loaded
	loads    sync.WaitGroup
	loadCtx  context.Context // ends at close
	endLoads context.CancelFunc
}

type filter struct {
	initialStock int // tells the coupon's restocks apart
	bytes        int
	users        atomic.Pointer[bloom.BloomFilter] // nil until it is loaded
	used         atomic.Bool                       // since the last sweep
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
	// sweepInterval is the time for which a filter must be unused before another
	// takes its place. Without it, coupons that do not fit together would be
	// loaded and evicted all the time.
	sweepInterval = time.Minute
	// loadTimeout bounds the reading of one coupon's orders.
	loadTimeout = 30 * time.Second
	// loadPause is the time until a load that failed is tried again.
	loadPause = time.Second
)

func newFilters(db *sqlx.DB, maxBytes int) *filters {
	w := &filters{db: db, maxBytes: maxBytes, byCoupon: map[int64]*filter{}}
	w.loadCtx, w.endLoads = context.WithCancel(context.Background())
	return w
}

// exclude reports whether the filter of c, which was seen sold out, proves that
// the user has no order. If c has no filter, exclude begins to load it and
// returns false.
func (w *filters) exclude(c coupon.Coupon, userID int64) bool {
	w.mu.RLock()
	f := w.byCoupon[c.ID]
	w.mu.RUnlock()
	if f == nil || f.initialStock < c.InitialStock {
		w.beginLoad(c)
		return false
	}
	if !f.used.Load() { // storing always would make all cores write to one cache line
		f.used.Store(true)
	}
	users := f.users.Load()
	return users != nil && !users.Test(filterKey(userID))
}

// beginLoad loads the filter of c in the background, unless it has been begun or
// does not fit.
func (w *filters) beginLoad(c coupon.Coupon) {
	bits, hashes := bloom.EstimateParameters(uint(max(1, c.InitialStock)), falsePositives)
	f := &filter{initialStock: c.InitialStock, bytes: int(bits/8) + filterOverhead}
	f.used.Store(true)
	w.mu.Lock()
	defer w.mu.Unlock()
	before := w.byCoupon[c.ID]
	if w.closed || before != nil && before.initialStock >= c.InitialStock {
		return
	}
	w.evict(c.ID)
	if !w.makeRoom(f.bytes) {
		return
	}
	w.byCoupon[c.ID] = f
	w.bytes += f.bytes
	w.loads.Go(func() {
		if err := w.load(c.ID, f, bits, hashes); err != nil {
			w.abandon(c.ID, f)
		}
	})
}

// makeRoom reports whether n more bytes fit. It evicts filters that have not been
// used for an interval.
func (w *filters) makeRoom(n int) bool {
	if n > w.maxBytes/2 {
		return false
	}
	if w.bytes+n > w.maxBytes && time.Since(w.sweptAt) >= sweepInterval {
		w.sweptAt = time.Now()
		for id, f := range w.byCoupon {
			if !f.used.Swap(false) {
				w.evict(id)
			}
		}
	}
	return w.bytes+n <= w.maxBytes
}

func (w *filters) evict(couponID int64) {
	if f := w.byCoupon[couponID]; f != nil {
		w.bytes -= f.bytes
		delete(w.byCoupon, couponID)
	}
}

// abandon removes a filter that could not be loaded, after a pause. A later
// claim begins to load it again.
func (w *filters) abandon(couponID int64, f *filter) {
	select {
	case <-time.After(loadPause):
	case <-w.loadCtx.Done():
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.byCoupon[couponID] == f { // it may have been evicted
		w.evict(couponID)
	}
}

// errNotSoldOut says that a coupon's orders may not be complete.
var errNotSoldOut = errors.New("the coupon has stock, or was restocked")

// load reads the coupon's users into f. One statement reads the stock and the
// orders: two could be answered by two replicas, and the orders of the one that
// lags would be taken for complete.
func (w *filters) load(couponID int64, f *filter, bits, hashes uint) error {
	const q = `
		SELECT o.user_id FROM coupons c LEFT JOIN coupon_orders o ON o.coupon_id = c.id
		WHERE c.id = ? AND c.initial_stock = ? AND ` + coupon.StockColumn + ` < 1`
	w.loadTurn.Lock()
	defer w.loadTurn.Unlock()
	ctx, cancel := context.WithTimeout(w.loadCtx, loadTimeout)
	defer cancel()
	rows, err := w.db.QueryContext(ctx, q, couponID, f.initialStock)
	if err != nil {
		return fmt.Errorf("select users: %w", err)
	}
	defer rows.Close()
	users, n := bloom.New(bits, hashes), 0
	for ; rows.Next(); n++ {
		var userID sql.NullInt64 // NULL in the single row of a coupon without orders
		if err := rows.Scan(&userID); err != nil {
			return fmt.Errorf("select users: %w", err)
		}
		users.Add(filterKey(userID.Int64))
	}
	if err := rows.Err(); err != nil {
		return fmt.Errorf("select users: %w", err)
	}
	if n == 0 {
		return errNotSoldOut
	}
	f.users.Store(users)
	return nil
}

func filterKey(userID int64) []byte {
	return binary.LittleEndian.AppendUint64(make([]byte, 0, 8), uint64(userID))
}

// close ends all loads and returns when they have ended. No load begins later.
func (w *filters) close() {
	w.mu.Lock()
	w.closed = true
	w.mu.Unlock()
	w.endLoads()
	w.loads.Wait()
}
