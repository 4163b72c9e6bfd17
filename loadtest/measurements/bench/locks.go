package bench

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"

	"example.com/flashsale/internal/lab"
)

// The names of the locks in bench-peers.
var (
	peerLocks   = []string{"bsm redislock", "redsync", "rueidislock"}
	ownLock     = "redislock"
	batchedLock = "redislock batched" // as the service uses it
	rawLock     = "raw"               // SET NX and compare-and-delete, the least a lock with an owner can do
)

// pairGoroutines are the numbers of goroutines that pairs is measured with.
var pairGoroutines = []int{1, 16, 128, 512}

const (
	contendProcesses = 4
	contendWaiters   = 16 // in each process
	heldLocks        = 10_000
	heldTTL          = "3s"
)

// lockSection measures redislock and its peers on the same Redis.
func (b *bench) lockSection(ctx context.Context) error {
	var all []measurement
	for _, goroutines := range pairGoroutines {
		for _, lock := range append([]string{rawLock, ownLock, batchedLock}, peerLocks...) {
			all = append(all, b.pairs(lock, goroutines))
		}
	}
	for _, lock := range append([]string{ownLock, batchedLock}, peerLocks...) {
		all = append(all, b.contention(lock))
	}
	if err := b.interleave(ctx, all); err != nil {
		return err
	}
	return b.interleave(ctx, []measurement{b.renewals(ownLock), b.renewals("rueidislock")}) // the others do not renew
}

// queueSection measures the drivers of the services that queue waiters themselves
// and the services' own locks.
func (b *bench) queueSection(ctx context.Context) error {
	etcd, err := lab.StartEtcd(b.Lab)
	if err != nil {
		return err
	}
	b.peersEnv = append(b.peersEnv, "ETCD_ADDR="+etcd.Endpoint)
	return b.interleave(ctx, []measurement{b.contention("etcdlock"), b.contention("etcd mutex")})
}

// pairs measures acquire and release without contention.
func (b *bench) pairs(lock string, goroutines int) measurement {
	name := fmt.Sprintf("pairs/%d/%s", goroutines, lock)
	return measurement{name, func(ctx context.Context) error {
		var r struct{ Pairs, Seconds float64 }
		err := b.runPeers(ctx, &r, "pairs", lock, strconv.Itoa(goroutines), b.pairsDuration.String())
		if err != nil {
			return err
		}
		b.Add(name, "1/s", r.Pairs/r.Seconds)
		return nil
	}}
}

// contention measures how often the waiters of several processes hand one lock
// over to each other.
func (b *bench) contention(lock string) measurement {
	name := "contended/" + lock
	return measurement{name, func(ctx context.Context) error {
		var r struct {
			Acquired  float64
			HandOvers float64 `json:"hand_overs"`
			Seconds   float64
			P99MS     float64 `json:"p99_ms"`
			MaxMS     float64 `json:"max_ms"`
			Calls     float64
		}
		err := b.runPeers(ctx, &r, "contend", lock, strconv.Itoa(contendProcesses), strconv.Itoa(contendWaiters), b.shortDuration.String())
		if err != nil {
			return err
		}
		b.Add(name, "1/s", r.HandOvers/r.Seconds)
		b.Add(name+" takings, the last holder's own too", "1/s", r.Acquired/r.Seconds)
		b.Add(name+" wait p99", "ms", r.P99MS)
		b.Add(name+" wait max", "ms", r.MaxMS)
		if r.HandOvers > 0 {
			b.Add(name+" calls", "per hand-over", r.Calls/r.HandOvers)
		}
		return nil
	}}
}

// renewals measures the calls to Redis that renew many held locks.
func (b *bench) renewals(lock string) measurement {
	name := "held/" + lock
	return measurement{name, func(ctx context.Context) error {
		var r struct {
			Calls float64 `json:"calls_per_third"`
		}
		err := b.runPeers(ctx, &r, "hold", lock, strconv.Itoa(heldLocks), heldTTL, "2s")
		if err != nil {
			return err
		}
		b.Add(name, "calls per ttl/3 for 10,000", r.Calls)
		return nil
	}}
}

// runPeers runs bench-peers and decodes its output into result.
func (b *bench) runPeers(ctx context.Context, result any, args ...string) error {
	cmd := exec.CommandContext(ctx, b.peers, args...)
	cmd.Env = append(append(os.Environ(), "REDIS_URL="+b.Redis.URL), b.peersEnv...)
	out, err := cmd.Output()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return fmt.Errorf("%w: %s", err, exit.Stderr)
	}
	if err != nil {
		return err
	}
	return json.Unmarshal(out, result)
}
