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

// measureLocks measures redislock and its peers on the same Redis.
func (b *bench) measureLocks(ctx context.Context) error {
	var all []measurement
	for _, p := range allPairs {
		for _, lock := range append([]lockName{raw, own, batched}, peerLocks...) {
			all = append(all, b.pairs(p, lock))
		}
	}
	for _, lock := range append([]lockName{own, batched}, peerLocks...) {
		all = append(all, b.contention(lock))
	}
	if err := b.interleave(ctx, all); err != nil {
		return err
	}
	return b.interleave(ctx, []measurement{b.renewals(own), b.renewals(rueidis)}) // the others do not renew
}

// measureQueues measures the drivers of the services that queue waiters themselves
// and the services' own locks.
func (b *bench) measureQueues(ctx context.Context) error {
	server, err := lab.StartEtcd(b.Lab)
	if err != nil {
		return err
	}
	b.peersEnv = append(b.peersEnv, "ETCD_ADDR="+server.Endpoint)
	return b.interleave(ctx, []measurement{b.contention(etcd), b.contention(etcdMutex)})
}

// pairs measures acquire and release without contention.
func (b *bench) pairs(p pairs, lock lockName) measurement {
	to := p.of(lock)
	return measurement{to.name, func(ctx context.Context) error {
		var r struct{ Pairs, Seconds float64 }
		err := b.runPeers(ctx, &r, "pairs", lock.name, strconv.Itoa(p.goroutines), b.pairsDuration.String())
		if err != nil {
			return err
		}
		b.add(to, r.Pairs/r.Seconds)
		return nil
	}}
}

// contention measures how often the waiters of several processes hand one lock
// over to each other.
func (b *bench) contention(lock lockName) measurement {
	to := handOvers(lock)
	return measurement{to.name, func(ctx context.Context) error {
		var r struct {
			Acquired  float64
			HandOvers float64 `json:"hand_overs"`
			Seconds   float64
			P99MS     float64 `json:"p99_ms"`
			MaxMS     float64 `json:"max_ms"`
			Calls     float64
		}
		err := b.runPeers(ctx, &r, "contend", lock.name, strconv.Itoa(contendProcesses), strconv.Itoa(contendWaiters),
			b.shortDuration.String())
		if err != nil {
			return err
		}
		b.add(to.figure, r.HandOvers/r.Seconds)
		b.add(to.acquisitions(), r.Acquired/r.Seconds)
		b.add(to.waitP99(), r.P99MS)
		b.add(to.waitMax(), r.MaxMS)
		if r.HandOvers > 0 {
			b.add(to.calls(), r.Calls/r.HandOvers)
		}
		return nil
	}}
}

// renewals measures the calls to Redis that renew many held locks.
func (b *bench) renewals(lock lockName) measurement {
	to := renewals(lock)
	return measurement{to.name, func(ctx context.Context) error {
		var r struct {
			Calls float64 `json:"calls_per_third"`
		}
		err := b.runPeers(ctx, &r, "hold", lock.name, strconv.Itoa(heldLocks), heldTTL, "2s")
		if err != nil {
			return err
		}
		b.add(to, r.Calls)
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
