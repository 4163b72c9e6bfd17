// Package judge sends the workloads of this repository to anybody's shop and says
// whether the shop kept three promises: nothing is oversold, nobody has two orders, and
// every order that a client was told of is there. A file describes the shop, see package
// shop and docs/judge.md.
package judge

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"example.com/flashsale/loadtest/report"
	"example.com/flashsale/loadtest/rig"
	"example.com/flashsale/loadtest/shop"
	"example.com/flashsale/loadtest/trial"
	"example.com/flashsale/loadtest/verdict"
)

// Run judges the shop of the file SHOP, with the workloads that WORKLOADS names or with
// all of them. It prints a table and writes out/judge/report.html and
// out/judge/judge.json. It returns nil only if every promise was seen to hold, except
// where the file says that the shop breaks one.
func Run(ctx context.Context) error {
	path := os.Getenv("SHOP")
	if path == "" {
		return errors.New("SHOP is not set: the file that describes the shop, as examples/shops/flashsale.yml; see docs/judge.md")
	}
	s, err := shop.Read(path)
	if err != nil {
		return err
	}
	workloads, err := choose(s, os.Getenv("WORKLOADS"))
	if err != nil {
		return err
	}
	results, err := start(ctx, s, workloads)
	if err != nil {
		return fmt.Errorf("the shop of %s: %w", path, err)
	}
	return conclude(ctx, s, results)
}

// start starts s, if its file says how, judges it and stops it.
func start(ctx context.Context, s *shop.Shop, workloads []Workload) ([]*Result, error) {
	out, err := rig.EmptyDir("out", "judge")
	if err != nil {
		return nil, err
	}
	stop, err := s.Start(ctx)
	if err != nil {
		return nil, err
	}
	results, err := Judge(ctx, s, out, workloads)
	return results, errors.Join(err, stop())
}

// Judge sends workloads to s, one after the other, each to a sale that begins again.
// The load generators leave their files in out.
func Judge(ctx context.Context, s *shop.Shop, out string, workloads []Workload) (results []*Result, err error) {
	defer func() {
		if ctx.Err() != nil {
			results, err = nil, errors.Join(errors.New("interrupted: nothing is judged"), context.Cause(ctx))
		}
	}()
	sale, err := s.Open(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, sale.Close()) }()
	for i, w := range workloads {
		breaks := slices.Contains(s.Breaks, w.Name) || slices.Contains(w.Limit.BreaksIn, string(s.Version))
		results = append(results, &Result{Workload: w, Control: breaks, sale: sale,
			dir: filepath.Join(out, directory(i))})
	}
	return trial.Run(ctx, results...)
}

// directory returns the name of a result's directory.
func directory(i int) string { return fmt.Sprintf("%02d", i+1) }

// Run sends the workload. It returns no verdict if another try would not show more.
func (r *Result) Run(ctx context.Context) (verdict.Verdict, error) {
	*r = Result{Workload: r.Workload, Control: r.Control, sale: r.sale, dir: r.dir}
	if r.Failure = r.execute(ctx); !r.toBeRepeated() {
		return "", nil
	}
	return r.Verdict(), nil
}

// execute begins a sale, sends the workload to it and counts it.
func (r *Result) execute(ctx context.Context) (err error) {
	if _, err := rig.EmptyDir(r.dir); err != nil {
		return err
	}
	if err := r.begin(ctx); err != nil {
		return err
	}
	if err := r.send(ctx); err != nil {
		return err
	}
	if err := r.settle(ctx); err != nil {
		return err
	}
	r.Missing.N, r.Missing.Known, err = r.sale.Missing(ctx, r.told())
	return err
}

// settle counts the sale. If its orders come after the replies, it counts until nothing changes, but no longer than a
// claim may take: what never ends is counted, too.
func (r *Result) settle(ctx context.Context) (err error) {
	after, begin := r.sale.Totals.After, time.Now()
	for r.changing = true; err == nil && r.changing && time.Since(begin) < r.sale.Timeout+after; {
		before := r.After
		if !rig.Sleep(ctx, after) {
			return context.Cause(ctx)
		}
		r.After, err = r.sale.Count(ctx)
		r.changing = after > 0 && r.After != before
	}
	return err
}

// send sends the workload. While the claims are in flight, the database is as far away as
// it says.
func (r *Result) send(ctx context.Context) (err error) {
	before := 0
	t := rig.Target{
		URL: strings.TrimRight(string(r.sale.URL), "/"), Coupons: []string{r.sale.Coupon}, Shop: r.sale.Shop,
		Users: r.users, AtBurst: func() { before = r.sale.Delay(r.Limit.Delay) },
	}
	r.Burst, err = r.Send(ctx, r.dir, t, r.Workload.Workload)
	r.Delayed = r.sale.Delay(0) - before
	return err
}

// begin begins a sale and checks that it is as it was asked for. Tokens may not last for all workloads.
func (r *Result) begin(ctx context.Context) (err error) {
	r.sale.Coupon, r.sale.PerUser = string(cmp.Or(r.Limit.Coupon, r.sale.Shop.Coupon)), r.PerUser()
	if r.users, err = r.sale.Tokens(ctx, r.Users); err != nil {
		return err
	}
	if err := r.sale.Restart(ctx, r.Stock); err != nil {
		return err
	}
	if r.Before, err = r.sale.Count(ctx); err != nil {
		return err
	}
	stock, orders := r.Before.Stock, r.Before.Orders
	switch {
	case stock.Known && stock.N != r.Stock:
		return fmt.Errorf("begin: the stock is %d, and {{stock}} was %d", stock.N, r.Stock)
	case orders.Known && orders.N != 0:
		return fmt.Errorf("begin: there are %d orders already", orders.N)
	}
	return nil
}

// told returns the claims whose clients were told of an order.
func (r *Result) told() (told []shop.Told) {
	for _, claim := range r.distinct() {
		u := r.users[int(claim.User)-r.sale.Users.First]
		told = append(told, shop.Told{User: u.ID, Token: u.Token, Order: claim.Order})
	}
	return told
}

// conclude prints the table and writes the files.
func conclude(ctx context.Context, s *shop.Shop, results []*Result) error {
	fmt.Println()
	Table(results).Print()
	e, err := rig.ThisMachine(ctx)
	if err != nil {
		return err
	}
	p := page(s, e, results)
	return report.Finish("judge", Record{
		Environment: e, Shop: s.Title(), Version: string(s.Version), Rows: records(results), Pass: p.Pass,
	}, p)
}
