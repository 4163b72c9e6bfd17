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

	"example.com/flashsale/loadtest/report"
	"example.com/flashsale/loadtest/rig"
	"example.com/flashsale/loadtest/shop"
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
	return judge(ctx, path, os.Getenv("WORKLOADS"))
}

// RunJMeter sends the workloads of JMeter to this repository's service at BASE_URL.
func RunJMeter(ctx context.Context) error {
	return judge(ctx, filepath.Join("examples", "shops", "flashsale.yml"), "jmeter-one-user,jmeter-many-users")
}

func judge(ctx context.Context, path, names string) error {
	s, err := shop.Read(path)
	if err != nil {
		return err
	}
	workloads, err := choose(s, names)
	if err != nil {
		return err
	}
	out, err := rig.EmptyDir("out", "judge")
	if err != nil {
		return err
	}
	stop, err := s.Start(ctx)
	if err != nil {
		return fmt.Errorf("the shop of %s: %w", path, interrupted(ctx, err))
	}
	results, err := Judge(ctx, s, out, workloads)
	if err = errors.Join(err, stop()); err != nil {
		return fmt.Errorf("the shop of %s: %w", path, err)
	}
	return conclude(ctx, s, results)
}

// Judge sends workloads to s, one after the other, each to a sale that begins again.
// The load generators leave their files in out.
func Judge(ctx context.Context, s *shop.Shop, out string, workloads []Workload) (results []Result, err error) {
	sale, err := s.Open(ctx)
	if err != nil {
		return nil, interrupted(ctx, err)
	}
	defer func() { err = errors.Join(err, sale.Close()) }()
	most := slices.MaxFunc(workloads, func(a, b Workload) int { return a.Users - b.Users })
	users, err := s.Tokens(ctx, most.Users)
	if err != nil {
		return nil, interrupted(ctx, err)
	}
	steps := rig.NewSteps(len(workloads))
	for i, w := range workloads {
		steps.Next("%s", w.Title())
		c := &court{sale: sale, users: users, dir: filepath.Join(out, fmt.Sprintf("%02d", i+1)), workload: w}
		r := c.repeat(ctx)
		if ctx.Err() != nil {
			return nil, interrupted(ctx, nil)
		}
		results = append(results, r)
	}
	return results, nil
}

// interrupted returns err, or that the run was interrupted.
func interrupted(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return errors.Join(errors.New("interrupted: nothing is judged"), context.Cause(ctx))
	}
	return err
}

// A court judges one workload.
type court struct {
	sale     *shop.Sale
	users    []shop.User
	dir      string
	workload Workload
}

// attempts bounds how often a workload is repeated whose claims did not meet, or that
// had to break a promise and did not.
const attempts = 5

func (c *court) repeat(ctx context.Context) Result {
	r := c.try(ctx)
	for n := 1; n < attempts && ctx.Err() == nil && r.toBeRepeated(); n++ {
		fmt.Fprintf(os.Stderr, "         %s: again\n", strings.Join(r.Reasons(), "; "))
		r = c.try(ctx)
	}
	return r
}

func (c *court) try(ctx context.Context) Result {
	breaks := slices.Contains(c.sale.Breaks, c.workload.Name) ||
		slices.Contains(c.workload.Limit.BreaksIn, string(c.sale.Version))
	r := Result{Workload: c.workload, Control: breaks}
	if _, r.Failure = rig.EmptyDir(c.dir); r.Failure == nil {
		r.Failure = c.execute(ctx, &r)
	}
	return r
}

// execute begins a sale, sends the workload to it and counts it.
func (c *court) execute(ctx context.Context, r *Result) (err error) {
	if err := c.begin(ctx, r); err != nil {
		return err
	}
	t := rig.Target{
		URL: strings.TrimRight(string(c.sale.URL), "/"), Coupons: []string{c.sale.Coupon}, Shop: c.sale.Shop,
		Users: c.users,
	}
	if err := c.send(ctx, t, r); err != nil {
		return err
	}
	if !rig.Sleep(ctx, c.sale.Totals.After) {
		return context.Cause(ctx)
	}
	if r.After, err = c.sale.Count(ctx); err != nil {
		return err
	}
	r.Missing.N, r.Missing.Known, err = c.sale.Missing(ctx, c.told(r.Acknowledged()))
	return err
}

// send sends the workload. While the claims are in flight, the database is as far away as
// it says.
func (c *court) send(ctx context.Context, t rig.Target, r *Result) (err error) {
	before := 0
	t.AtBurst = func() { before = c.sale.Delay(c.workload.Limit.Delay) }
	r.Burst, err = c.workload.Send(ctx, c.dir, t, c.workload.Workload)
	r.Delayed = c.sale.Delay(0) - before
	return err
}

// begin begins a sale and checks that it is as it was asked for.
func (c *court) begin(ctx context.Context, r *Result) (err error) {
	c.sale.Coupon, c.sale.PerUser = string(cmp.Or(c.workload.Limit.Coupon, c.sale.Shop.Coupon)), c.workload.PerUser()
	if err := c.sale.Restart(ctx, c.workload.Stock); err != nil {
		return err
	}
	if r.Before, err = c.sale.Count(ctx); err != nil {
		return err
	}
	stock, orders := r.Before.Stock, r.Before.Orders
	switch {
	case stock.Known && stock.N != c.workload.Stock:
		return fmt.Errorf("begin: the stock is %d, and {{stock}} was %d", stock.N, c.workload.Stock)
	case orders.Known && orders.N != 0:
		return fmt.Errorf("begin: there are %d orders already", orders.N)
	}
	return nil
}

func (c *court) told(claims []rig.Claim) (told []shop.Told) {
	for _, claim := range claims {
		u := c.users[int(claim.User)-c.sale.Users.First]
		told = append(told, shop.Told{User: u.ID, Token: u.Token, Order: claim.Order})
	}
	return told
}

// conclude prints the table and writes the files.
func conclude(ctx context.Context, s *shop.Shop, results []Result) error {
	fmt.Println()
	Table(results).Print()
	e, err := rig.ThisMachine(ctx)
	if err != nil {
		return err
	}
	file := filepath.Join("out", "judge", "judge.json")
	pass := verdict.AllPass(verdicts(results))
	err = rig.WriteJSON(file, Record{
		Environment: e, Shop: s.Title(), Version: string(s.Version), Rows: records(results), Pass: pass,
	})
	if err == nil {
		fmt.Printf("\n%s: pass %v\n", file, pass)
		err = report.Write("judge", page(s, e, results))
	}
	return errors.Join(err, rig.Proven(pass))
}
