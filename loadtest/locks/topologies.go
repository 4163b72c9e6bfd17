package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"example.com/flashsale/internal/lab"
	"example.com/flashsale/internal/order"
	"example.com/flashsale/loadtest/rig"
)

const (
	stock    = 50 // of each coupon, for 100 users with 7 claims each
	failover = 12 // rounds, a second apart, of a sale with a failover in it
)

// A Sale is the as-shipped claim experiment on one shape of Redis.
type Sale struct {
	Shape      string  `json:"redis"`
	Failover   bool    `json:"failover"`
	Rounds     int     `json:"rounds"`
	SoldOut    int     `json:"rounds_sold_out"`
	Accepted   int     `json:"accepted"`
	Orders     int     `json:"orders"`
	Oversold   int     `json:"oversold"`
	Duplicates int     `json:"duplicates"`
	Undersold  int     `json:"undersold"`
	Missing    int     `json:"acked_missing"`
	Away       float64 `json:"unavailable_s"` // from the master's death to the first claim after the last one that failed
	Refused    int     `json:"unavailable"`   // claims answered 503
	Pass       bool    `json:"pass"`
}

func topologies(ctx context.Context, s *rig.Stack) error {
	var report struct {
		Sales []Sale  `json:"sales"`
		Views []Views `json:"views"`
	}
	pass := true
	fmt.Println("100 users claim 7 times each, stock 50, as shipped:")
	fmt.Printf(saleRow, "redis", "failover", "rounds", "sold out", "accepted", "orders", "I1 over", "I2 twice", "I3 missing", "503s", "away", "right")
	for _, shape := range lab.Topologies {
		for _, fails := range []bool{false, true} {
			if fails && shape != "sentinel" && shape != "cluster" {
				continue // nothing takes the master's place
			}
			sale, err := sell(ctx, s, shape, fails)
			if err != nil {
				return fmt.Errorf("%s: %w", shape, err)
			}
			sale.print()
			report.Sales, pass = append(report.Sales, sale), pass && sale.Pass
		}
	}
	fmt.Println("\n666 page views at once:")
	fmt.Printf("%-9s "+viewRow, "redis", "sent by", "version", "lock", "counted", "lost", "views/s", "wait p50", "wait p99", "expected", "right")
	for _, shape := range lab.Topologies {
		for _, t := range []struct{ version, driver, expect string }{
			{"v1", "none", "break"}, {"v2", "local", "break"}, {"v3", "redis", "hold"}, {"v3", "redisson", "hold"}, {"v4", "redlock", "hold"},
		} {
			v, err := view(ctx, s, "k6", shape, t.version, t.driver, t.expect)
			if err != nil {
				return fmt.Errorf("%s %s %s: %w", shape, t.version, t.driver, err)
			}
			fmt.Printf("%-9s ", shape)
			v.print()
			report.Views, pass = append(report.Views, v), pass && v.Pass
		}
	}
	return save(ctx, s, "topologies", report, pass)
}

func sell(ctx context.Context, s *rig.Stack, shape string, fails bool) (Sale, error) {
	sale := Sale{Shape: shape, Failover: fails, Rounds: 1}
	if fails {
		sale.Rounds = failover
	}
	sv, err := start(ctx, s, shape, "redis")
	if err != nil {
		return sale, err
	}
	err = sale.run(ctx, s, sv)
	return sale, errors.Join(err, sv.Stop())
}

func (sale *Sale) run(ctx context.Context, s *rig.Stack, sv *Service) error {
	var coupons []int64
	for range sale.Rounds {
		id, err := sv.OnSale(ctx, stock)
		if err != nil {
			return err
		}
		coupons = append(coupons, id)
	}
	killed := make(chan time.Time, 1)
	during, cancel := context.WithCancel(ctx)
	defer cancel()
	if sale.Failover {
		go func() { killed <- kill(during, sv) }()
	}
	claims, err := claim(ctx, s, sv, coupons)
	if err != nil {
		return err
	}
	var died time.Time
	if sale.Failover {
		cancel() // the sale is over
		if died = <-killed; died.IsZero() {
			return errors.New("the failover missed the sale")
		}
	}
	sale.answers(claims, died)
	if sale.Failover && sale.Refused == 0 {
		return errors.New("nobody noticed the failover")
	}
	return sale.audit(ctx, sv, coupons, claims)
}

// kill waits for the third round, ends the server that the ids are counted on,
// without warning, and says when; or never.
func kill(ctx context.Context, sv *Service) (died time.Time) {
	for orders := 0; orders <= 2*stock; time.Sleep(5 * time.Millisecond) {
		if err := sv.DB.GetContext(ctx, &orders, "SELECT COUNT(*) FROM coupon_orders"); err != nil {
			return died
		}
	}
	master, err := sv.Redis.Master(ctx, "icr:order:"+time.Now().UTC().Format("2006:01:02"))
	if err != nil {
		return died
	}
	died = time.Now()
	master.Kill()
	return died
}

// answers counts what the clients were told.
func (sale *Sale) answers(claims []Claim, died time.Time) {
	var lastFailed time.Time
	for _, c := range claims {
		if c.Verdict == "unexpected" {
			sale.Refused++
			if c.Answered.After(lastFailed) {
				lastFailed = c.Answered
			}
		}
		if c.Verdict == "accepted" {
			sale.Accepted++
		}
	}
	if died.IsZero() || lastFailed.IsZero() {
		return
	}
	back := slices.IndexFunc(claims, func(c Claim) bool { return c.Verdict == "accepted" && c.Answered.After(lastFailed) })
	if back >= 0 {
		sale.Away = claims[back].Answered.Sub(died).Seconds()
	}
}

// audit asks the database.
func (sale *Sale) audit(ctx context.Context, sv *Service, coupons []int64, claims []Claim) error {
	store, last := order.NewStore(sv.DB), 0
	for _, id := range coupons {
		a, err := store.Audit(ctx, id)
		if err != nil {
			return err
		}
		sale.Orders += a.Orders
		sale.Oversold += a.Oversold()
		sale.Duplicates += a.Duplicates()
		sale.Undersold += a.Undersold()
		last = a.Orders
		if a.Orders == stock {
			sale.SoldOut++
		}
	}
	missing, err := missing(ctx, sv, claims)
	sale.Missing = missing
	kept := sale.Oversold+sale.Duplicates+sale.Undersold+missing == 0
	recovered := last == stock && (sale.Failover || sale.Refused == 0)
	sale.Pass = kept && recovered
	return err
}

// missing counts the acknowledged orders that are not there.
func missing(ctx context.Context, sv *Service, claims []Claim) (n int, err error) {
	var there []int64
	if err := sv.DB.SelectContext(ctx, &there, "SELECT id FROM coupon_orders"); err != nil {
		return 0, err
	}
	ids := map[int64]bool{}
	for _, id := range there {
		ids[id] = true
	}
	for _, c := range claims {
		if c.Verdict != "accepted" {
			continue
		}
		id, err := strconv.ParseInt(c.Order, 10, 64)
		if err != nil {
			return 0, err
		}
		if !ids[id] {
			n++
		}
	}
	return n, nil
}

const saleRow = "%-9s %-9s %6s %8s %9s %7s %8s %9s %11s %6s %7s  %s\n"

func (sale Sale) print() {
	fails, away := "no", "–"
	if sale.Failover {
		fails, away = "kill -9", fmt.Sprintf("%.1f s", sale.Away)
	}
	var cells []any
	for _, n := range []int{sale.Rounds, sale.SoldOut, sale.Accepted, sale.Orders, sale.Oversold, sale.Duplicates, sale.Missing + sale.Undersold, sale.Refused} {
		cells = append(cells, strconv.Itoa(n))
	}
	fmt.Printf(saleRow, append(append([]any{sale.Shape, fails}, cells...), away, yes(sale.Pass))...)
}

func join(ids []int64) string {
	var parts []string
	for _, id := range ids {
		parts = append(parts, strconv.FormatInt(id, 10))
	}
	return strings.Join(parts, ",")
}
