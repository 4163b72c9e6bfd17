package observe

import (
	"context"
	"iter"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"example.com/flashsale/internal/order"
)

// Promises collects what the audits of the coupons found: by how many orders
// each promise is broken, and when that was found out.
//
// A scrape begins the audits if the last ones are old, and does not wait for
// them. It shows what the last audit of each coupon found, and nothing before the
// first. So a service without scrapes audits nothing. An audit reads all
// orders of its coupon by one index, one coupon at a time.
type Promises struct {
	store   *order.Store
	broken  *prometheus.GaugeVec
	audited *prometheus.GaugeVec // without labels; empty before the first audits
	ctx     context.Context      // ends at Close
	cancel  context.CancelFunc

	auditing sync.Mutex // held while audits run, and after Close
	nextAt   time.Time
	found    map[int64]order.Audit // by coupon
}

const (
	// auditInterval is the least time between the audits of one instance.
	auditInterval = time.Minute
	// auditShare bounds the share of one database connection's time: the pause
	// is so many times as long as the audits took, and maxPause at most.
	auditShare = 20
	maxPause   = 10 * time.Minute
	// auditTimeout bounds the audit of a coupon.
	auditTimeout = 30 * time.Second
	// auditAfterEnd is how long a coupon is audited after its sale has ended.
	auditAfterEnd = time.Hour
)

// NewPromises returns a collector that audits the coupons of store. Register it.
func NewPromises(store *order.Store) *Promises {
	p := &Promises{
		store: store,
		broken: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "flashsale_broken_promises",
			Help: "Orders that break a promise, of all audited coupons: oversold, duplicates, undersold, surplus, overdue, outside_window.",
		}, []string{"promise"}),
		audited: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "flashsale_audit_timestamp_seconds", Help: "When the last complete audits began.",
		}, nil),
	}
	p.ctx, p.cancel = context.WithCancel(context.Background())
	return p
}

// Describe implements prometheus.Collector.
func (p *Promises) Describe(out chan<- *prometheus.Desc) {
	p.broken.Describe(out)
	p.audited.Describe(out)
}

// Collect implements prometheus.Collector. It begins new audits if it is time.
func (p *Promises) Collect(out chan<- prometheus.Metric) {
	p.broken.Collect(out)
	p.audited.Collect(out)
	if p.auditing.TryLock() {
		go p.auditIfDue()
	}
}

// auditIfDue audits all coupons, if it is time, and unlocks p.auditing.
func (p *Promises) auditIfDue() {
	defer p.auditing.Unlock()
	if time.Now().Before(p.nextAt) {
		return
	}
	start := time.Now()
	if p.auditAll() {
		p.audited.WithLabelValues().Set(float64(start.UnixMilli()) / 1000)
	}
	p.nextAt = time.Now().Add(max(auditInterval, min(auditShare*time.Since(start), maxPause)))
}

// auditAll audits all coupons, and reports whether it has. Of one whose audit fails, what is
// known remains: that no audits are complete is what an alert can see.
func (p *Promises) auditAll() (complete bool) {
	ctx, cancel := context.WithTimeout(p.ctx, auditTimeout)
	defer cancel()
	ids, err := p.store.ToAudit(ctx, auditAfterEnd)
	if err != nil {
		return false
	}
	complete = true
	found := map[int64]order.Audit{}
	for _, id := range ids {
		if found[id], err = p.audit(id); err != nil {
			found[id], complete = p.found[id], false
		}
	}
	p.found = found
	for promise, n := range sum(maps.Values(found)) {
		p.broken.WithLabelValues(promise).Set(float64(n))
	}
	return complete
}

func (p *Promises) audit(id int64) (order.Audit, error) {
	ctx, cancel := context.WithTimeout(p.ctx, auditTimeout)
	defer cancel()
	return p.store.Audit(ctx, id)
}

func sum(audits iter.Seq[order.Audit]) map[string]int {
	total := map[string]int{}
	for _, a := range slices.AppendSeq([]order.Audit{{}}, audits) { // so that each promise is named
		for promise, n := range map[string]int{
			"oversold": a.Oversold(), "duplicates": a.Duplicates(), "undersold": a.Undersold(),
			"surplus": a.Surplus(), "overdue": a.Overdue, "outside_window": a.OutsideWindow,
		} {
			total[promise] += n
		}
	}
	return total
}

// Close ends a running audit. Scrapes begin no other.
func (p *Promises) Close() {
	p.cancel()
	p.auditing.Lock()
}
