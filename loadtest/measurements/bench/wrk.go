package bench

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
	"example.com/flashsale/loadtest/rig"
)

//go:embed claim.lua
var claimLua []byte

// wrk runs the load generator wrk, a closed model: each connection sends its
// next claim after the reply to the previous one.
type wrk struct {
	path    string
	script  string
	headers rig.Headers
}

const wrkThreads = 2

func newWrk(h rig.Headers) (*wrk, error) {
	path, err := lab.LookPath("wrk")
	if err != nil {
		return nil, err
	}
	script := filepath.Join(filepath.Dir(h.Path), "claim.lua")
	return &wrk{path, script, h}, os.WriteFile(script, claimLua, 0o644)
}

// A wrkResult is the output of claim.lua.
type wrkResult struct {
	Requests   int `json:"requests"`
	Refused    int `json:"refused"` // 4xx and 5xx
	Failed     int `json:"failed"`  // no reply
	Wraps      int `json:"wraps"`   // how often the users started over
	DurationUS int `json:"duration_us"`
	P50US      int `json:"p50_us"`
	P99US      int `json:"p99_us"`
	MaxUS      int `json:"max_us"`
}

func (r wrkResult) accepted() int { return r.Requests - r.Refused }

func (r wrkResult) perSecond(n int) float64 { return float64(n) / (float64(r.DurationUS) / 1e6) }

// run claims over conns connections at address (host:port) for duration. The
// requests go to the coupons in rotation.
func (w *wrk) run(ctx context.Context, address string, conns int, duration time.Duration, coupons ...int64) (wrkResult, error) {
	args := []string{
		"-t", strconv.Itoa(wrkThreads), "-c", strconv.Itoa(conns), "-d", wrkSeconds(duration), "--timeout", "10s",
		"-s", w.script, "http://" + address, "--",
		w.headers.Path, strconv.Itoa(w.headers.Width), strconv.Itoa(w.headers.Count), strconv.Itoa(wrkThreads),
	}
	for _, id := range coupons {
		args = append(args, claimPath(id))
	}
	out, err := exec.CommandContext(ctx, w.path, args...).CombinedOutput()
	if err != nil {
		return wrkResult{}, fmt.Errorf("wrk: %w: %s", err, out)
	}
	var r wrkResult
	if err := json.Unmarshal(out[bytes.LastIndexByte(out, '{'):], &r); err != nil {
		return wrkResult{}, fmt.Errorf("wrk: %w: %s", err, out)
	}
	if r.Failed > 0 {
		return r, fmt.Errorf("wrk: %d requests without a reply: %s", r.Failed, out)
	}
	if r.Requests == 0 {
		return r, errors.New("wrk: no replies")
	}
	return r, nil
}

// wrkSeconds formats d in whole seconds, at least one: wrk accepts no fractions.
func wrkSeconds(d time.Duration) string {
	return strconv.Itoa(max(1, int(d.Round(time.Second).Seconds()))) + "s"
}

func claimPath(couponID int64) string {
	return "/coupons/" + strconv.FormatInt(couponID, 10) + "/orders"
}
