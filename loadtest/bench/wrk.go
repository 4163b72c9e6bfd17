package main

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"time"

	"example.com/flashsale/internal/lab"
	"example.com/flashsale/loadtest/stack"
)

//go:embed claim.lua
var claimLua []byte

// A wrk is the closed load: each connection sends its next claim when the last
// is answered.
type wrk struct {
	path    string
	script  string
	headers stack.Headers
}

const wrkThreads = 2

func newWrk(s *stack.Stack, h stack.Headers) (*wrk, error) {
	path, err := lab.LookPath("wrk")
	if err != nil {
		return nil, err
	}
	script := filepath.Join(filepath.Dir(h.Path), "claim.lua")
	return &wrk{path, script, h}, os.WriteFile(script, claimLua, 0o644)
}

// A load is what one run of wrk has seen.
type load struct {
	Requests   int `json:"requests"`
	Refused    int `json:"refused"` // 4xx and 5xx
	Broken     int `json:"broken"`  // no answer at all
	Laps       int `json:"laps"`    // how often the users were used up
	DurationUS int `json:"duration_us"`
	P50US      int `json:"p50_us"`
	P99US      int `json:"p99_us"`
	MaxUS      int `json:"max_us"`
}

func (l load) accepted() int { return l.Requests - l.Refused }

func (l load) perSecond(n int) float64 { return float64(n) / (float64(l.DurationUS) / 1e6) }

// run claims over conns connections from address (host:port) for a while, in
// turn from each of coupons.
func (w *wrk) run(ctx context.Context, address string, conns int, d time.Duration, coupons ...int64) (load, error) {
	args := []string{
		"-t", strconv.Itoa(wrkThreads), "-c", strconv.Itoa(conns), "-d", seconds(d), "--timeout", "10s",
		"-s", w.script, "http://" + address, "--",
		w.headers.Path, strconv.Itoa(w.headers.Width), strconv.Itoa(w.headers.Count), strconv.Itoa(wrkThreads),
	}
	for _, id := range coupons {
		args = append(args, claimPath(id))
	}
	out, err := exec.CommandContext(ctx, w.path, args...).CombinedOutput()
	if err != nil {
		return load{}, fmt.Errorf("wrk: %w: %s", err, out)
	}
	var l load
	if err := json.Unmarshal(out[bytes.LastIndexByte(out, '{'):], &l); err != nil {
		return load{}, fmt.Errorf("wrk: %w: %s", err, out)
	}
	if l.Broken > 0 {
		return l, fmt.Errorf("wrk: %d requests without an answer: %s", l.Broken, out)
	}
	if l.Requests == 0 {
		return l, errors.New("wrk: no answers")
	}
	return l, nil
}

// seconds is d as wrk takes it: whole seconds, or its own unit.
func seconds(d time.Duration) string {
	return strconv.Itoa(max(1, int(d.Round(time.Second).Seconds()))) + "s"
}

func claimPath(couponID int64) string {
	return "/coupons/" + strconv.FormatInt(couponID, 10) + "/orders"
}
