package ordermetrics

import (
	"context"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"example.com/flashsale/internal/order"
)

// Promises collects what the audits of the coupons found: by how many orders
// each promise is broken, and when that was found out.
//
// A scrape begins the audits if the last ones are old, and does not wait for
// them. It shows what the last complete audits found, and nothing before the
// first. So a service without scrapes audits nothing. An audit reads all
// orders of its coupon by one index, one coupon at a time.
type Promises struct {
	store  *order.Store
	ctx    context.Context // ends at Close
	cancel context.CancelFunc

	mu      sync.Mutex
	running bool
	nextAt  time.Time
	found   promises
	audits  sync.WaitGroup
}

// promises is the sum of several audits.
type promises struct {
	at                              time.Time // zero before the first audits
	oversold, duplicates, undersold int
	outsideWindow, surplus, overdue int
}

const (
	// auditInterval is the least time between the audits of one instance.
	auditInterval = time.Minute
	// auditShare bounds the share of one database connection's time: the pause
	// is so many times as long as the audits took.
	auditShare = 20
	// auditTimeout bounds the audits of all coupons.
	auditTimeout = 30 * time.Second
	// auditAfterEnd is how long a coupon is audited after its sale has ended.
	auditAfterEnd = time.Hour
)

// NewPromises returns a collector that audits the coupons of store.
func NewPromises(store *order.Store) *Promises {
	p := &Promises{store: store}
	p.ctx, p.cancel = context.WithCancel(context.Background())
	return p
}

var (
	broken = prometheus.NewDesc("flashsale_broken_promises",
		"Orders that break a promise, of all audited coupons: oversold, duplicates, undersold, surplus, overdue, outside_window.",
		[]string{"promise"}, nil)
	audited = prometheus.NewDesc("flashsale_audit_timestamp_seconds", "When the last complete audits began.", nil, nil)
)

// Describe implements prometheus.Collector.
func (*Promises) Describe(out chan<- *prometheus.Desc) {
	out <- broken
	out <- audited
}

// Collect implements prometheus.Collector.
func (p *Promises) Collect(out chan<- prometheus.Metric) {
	found := p.last()
	if found.at.IsZero() {
		return
	}
	for name, n := range map[string]int{"oversold": found.oversold, "duplicates": found.duplicates,
		"undersold": found.undersold, "surplus": found.surplus, "overdue": found.overdue,
		"outside_window": found.outsideWindow} {
		out <- prometheus.MustNewConstMetric(broken, prometheus.GaugeValue, float64(n), name)
	}
	out <- prometheus.MustNewConstMetric(audited, prometheus.GaugeValue, float64(found.at.UnixMilli())/1000)
}

// last returns what the last audits found, and begins new ones if it is time.
func (p *Promises) last() promises {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.running && time.Now().After(p.nextAt) && p.ctx.Err() == nil {
		p.running = true
		p.audits.Go(p.audit)
	}
	return p.found
}

// audit audits all coupons. An audit that fails leaves what is known, with its
// time: that it grows old is what an alert can see.
func (p *Promises) audit() {
	ctx, cancel := context.WithTimeout(p.ctx, auditTimeout)
	defer cancel()
	start := time.Now()
	all, err := p.store.AuditAll(ctx, auditAfterEnd)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.running = false
	p.nextAt = time.Now().Add(max(auditInterval, auditShare*time.Since(start)))
	if err == nil {
		p.found = sum(start, all)
	}
}

func sum(at time.Time, audits []order.Audit) promises {
	total := promises{at: at}
	for _, a := range audits {
		total.oversold += a.Oversold()
		total.duplicates += a.Duplicates()
		total.undersold += a.Undersold()
		total.outsideWindow += a.OutsideWindow
		total.surplus += a.Surplus()
		total.overdue += a.Overdue
	}
	return total
}

// Close ends a running audit. Scrapes begin no other.
func (p *Promises) Close() {
	p.mu.Lock()
	p.cancel()
	p.mu.Unlock()
	p.audits.Wait()
}
