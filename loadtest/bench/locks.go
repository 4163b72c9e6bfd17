package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
)

// The locks that ours is compared with, and the least that one can do.
var (
	peers   = []string{"bsm redislock", "redsync", "rueidislock"}
	mine    = "redislock"
	batched = "redislock batched" // as the service uses it
	floor   = "raw"
)

const (
	contenders = 4  // processes
	waiters    = 16 // in each
	held       = 10_000
	heldTTL    = "3s"
)

// lockSection measures our lock beside its peers, on the same Redis.
func (b *bench) lockSection(ctx context.Context) error {
	var cells []cell
	for _, goroutines := range []int{1, 16, 128, 512} {
		for _, lock := range append([]string{floor, mine, batched}, peers...) {
			cells = append(cells, b.pairs(lock, goroutines))
		}
	}
	for _, lock := range append([]string{mine, batched}, peers...) {
		cells = append(cells, b.contended(lock))
	}
	if err := b.turns(ctx, cells); err != nil {
		return err
	}
	return b.turns(ctx, []cell{b.held(mine), b.held("rueidislock")}) // the others do not renew
}

func (b *bench) pairs(lock string, goroutines int) cell {
	name := fmt.Sprintf("pairs/%d/%s", goroutines, lock)
	return cell{name, func(ctx context.Context) error {
		var r struct{ Pairs, Seconds float64 }
		err := b.peer(ctx, &r, "pairs", lock, strconv.Itoa(goroutines), b.brief.String())
		b.Add(name, "1/s", r.Pairs/r.Seconds)
		return err
	}}
}

func (b *bench) contended(lock string) cell {
	name := "contended/" + lock
	return cell{name, func(ctx context.Context) error {
		var r struct {
			Taken     float64
			HandOvers float64 `json:"hand_overs"`
			Seconds   float64
			P99MS     float64 `json:"p99_ms"`
			MaxMS     float64 `json:"max_ms"`
			Calls     float64
		}
		err := b.peer(ctx, &r, "contend", lock, strconv.Itoa(contenders), strconv.Itoa(waiters), b.less.String())
		if err != nil {
			return err
		}
		b.Add(name, "1/s", r.HandOvers/r.Seconds)
		b.Add(name+" takings, the last holder's own too", "1/s", r.Taken/r.Seconds)
		b.Add(name+" wait p99", "ms", r.P99MS)
		b.Add(name+" wait max", "ms", r.MaxMS)
		if r.HandOvers > 0 {
			b.Add(name+" calls", "per hand-over", r.Calls/r.HandOvers)
		}
		return nil
	}}
}

func (b *bench) held(lock string) cell {
	name := "held/" + lock
	return cell{name, func(ctx context.Context) error {
		var r struct {
			Calls float64 `json:"calls_per_third"`
		}
		err := b.peer(ctx, &r, "hold", lock, strconv.Itoa(held), heldTTL, "2s")
		b.Add(name, "calls per ttl/3 for 10,000", r.Calls)
		return err
	}}
}

// peer runs the program that knows all these locks and reads its answer.
func (b *bench) peer(ctx context.Context, into any, args ...string) error {
	cmd := exec.CommandContext(ctx, b.locks, args...)
	cmd.Env = append(os.Environ(), "REDIS_URL="+b.Redis.URL)
	out, err := cmd.Output()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return fmt.Errorf("%w: %s", err, exit.Stderr)
	}
	if err != nil {
		return err
	}
	return json.Unmarshal(out, into)
}
