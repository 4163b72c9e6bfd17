package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"example.com/flashsale/loadtest/rig"
	"example.com/flashsale/loadtest/stats"
)

// A Report is soak.json.
type Report struct {
	rig.Circumstances
	Seconds      float64        `json:"seconds"`
	Coupons      int            `json:"coupons"`
	Orders       int            `json:"orders"`
	Acknowledged int            `json:"acknowledged"`
	Verdicts     map[string]int `json:"verdicts"`
	P50          float64        `json:"p50_ms"`
	P99          float64        `json:"p99_ms"`
	LongestGap   float64        `json:"longest_gap_seconds"` // without any answer but unknown
	Events       []event        `json:"events"`
	Faults       []string       `json:"faults"`
	Pass         bool           `json:"pass"`
}

var errBroken = errors.New("a promise was broken")

// report counts, prints and writes, and fails if anything was broken.
func (w *world) report(ctx context.Context) error {
	r, err := w.result(ctx)
	if err != nil {
		return err
	}
	dir := filepath.Join("out", "soak")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	text, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, "soak.json"), append(text, '\n'), 0o644); err != nil {
		return err
	}
	r.print()
	if !r.Pass {
		return errBroken
	}
	return nil
}

func (w *world) result(ctx context.Context) (Report, error) {
	at, err := w.stack.Circumstances(ctx)
	if err != nil {
		return Report{}, err
	}
	accounts, err := w.accounts(ctx)
	if err != nil {
		return Report{}, err
	}
	l := &w.ledger
	r := Report{
		Circumstances: at, Seconds: w.length.Seconds(), Coupons: len(accounts), Acknowledged: len(l.acks),
		Verdicts: l.verdicts, LongestGap: l.gap.Seconds(), Events: w.events.all, Faults: w.faults.list(),
	}
	r.P50, r.P99 = ms(stats.Quantile(l.latency, 0.5)), ms(stats.Quantile(l.latency, 0.99))
	for _, a := range accounts {
		r.Orders += a.Orders
	}
	if r.Orders == 0 || len(r.Events) == 0 {
		r.Faults = append(r.Faults, "nothing was sold, or nothing disturbed: this proves nothing")
	}
	r.Pass = len(r.Faults) == 0
	return r, nil
}

func ms(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

func (r Report) print() {
	claims := 0
	for _, n := range r.Verdicts {
		claims += n
	}
	fmt.Printf("%d claims in %.0f s on %d coupons (p50 %.1f ms, p99 %.1f ms, longest without an answer %.1f s)\n",
		claims, r.Seconds, r.Coupons, r.P50, r.P99, r.LongestGap)
	for _, verdict := range append(expected, "orders", "acknowledged") {
		n := map[string]int{"orders": r.Orders, "acknowledged": r.Acknowledged}[verdict]
		fmt.Printf("  %-18s %9d\n", verdict, n+r.Verdicts[verdict])
	}
	for _, e := range r.Events {
		fmt.Printf("  %6.1f s  %s, back after %.1f s\n", e.Second, e.What, e.Down)
	}
	for _, f := range r.Faults {
		fmt.Println("  BROKEN:", f)
	}
	if r.Pass {
		fmt.Println("I1 stock, I2 one each, I3 all sold and every acknowledged order there: all held, throughout and at the end.")
	}
}
