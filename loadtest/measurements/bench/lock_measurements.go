package bench

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"time"

	"example.com/flashsale/internal/lab"
	"example.com/flashsale/loadtest/rig"
)

// prepareLocks measures redislock and its peers on the same Redis.
func prepareLocks(_ context.Context, b *bench) ([]turns, error) {
	p := peers{"REDIS_URL=" + b.Redis.URL}
	var all []measurement
	for _, pairs := range allPairs {
		for _, lock := range append([]lockName{raw, own, batched}, peerLocks...) {
			all = append(all, p.pairs(pairs, lock, b.pairsDuration))
		}
	}
	for _, lock := range append([]lockName{own, batched}, peerLocks...) {
		all = append(all, p.contention(lock, b.shortDuration))
	}
	return []turns{
		{b.repetitions, all},
		{b.repetitions, []measurement{p.renewals(own), p.renewals(rueidis)}}, // the others do not renew
	}, nil
}

// prepareQueues measures the drivers of the services that queue waiters themselves
// and the services' own locks.
func prepareQueues(_ context.Context, b *bench) ([]turns, error) {
	server, err := lab.StartEtcd(b.Lab)
	if err != nil {
		return nil, err
	}
	p := peers{"REDIS_URL=" + b.Redis.URL, "ETCD_ADDR=" + server.Address}
	return []turns{{b.repetitions, []measurement{
		p.contention(etcd, b.shortDuration), p.contention(etcdMutex, b.shortDuration),
	}}}, nil
}

// peers are the settings of bench-peers: the servers that it needs.
type peers []string

// pairs measures acquire and release without contention.
func (p peers) pairs(pairs pairs, lock lockName, duration time.Duration) measurement {
	to := pairs.of(lock)
	return measurement{to.name, func(ctx context.Context) ([]measured, error) {
		var r struct{ Pairs, Seconds float64 }
		err := p.run(ctx, &r, "pairs", lock.name, duration, pairs.goroutines)
		return []measured{{to, r.Pairs / r.Seconds}}, err
	}}
}

// contention measures how often the waiters of several processes hand one lock
// over to each other.
func (p peers) contention(lock lockName, duration time.Duration) measurement {
	to := handOvers(lock)
	return measurement{to.name, func(ctx context.Context) ([]measured, error) {
		var r struct {
			Acquired  float64
			HandOvers float64 `json:"hand_overs"`
			Seconds   float64
			P99MS     float64 `json:"p99_ms"`
			MaxMS     float64 `json:"max_ms"`
			Calls     float64
		}
		err := p.run(ctx, &r, "contend", lock.name, duration, contendProcesses, contendWaiters)
		values := []measured{
			{to.figure, r.HandOvers / r.Seconds}, {to.acquisitions(), r.Acquired / r.Seconds},
			{to.waitP99(), r.P99MS}, {to.waitMax(), r.MaxMS},
		}
		if r.HandOvers > 0 {
			values = append(values, measured{to.calls(), r.Calls / r.HandOvers})
		}
		return values, err
	}}
}

// renewals measures the calls to Redis that renew many held locks.
func (p peers) renewals(lock lockName) measurement {
	to := renewals(lock)
	return measurement{to.name, func(ctx context.Context) ([]measured, error) {
		var r struct {
			Calls float64 `json:"calls_per_third"`
		}
		err := p.run(ctx, &r, "hold", lock.name, 2*time.Second, heldLocks, heldTTL)
		return []measured{{to, r.Calls}}, err
	}}
}

// run runs bench-peers and decodes its output into result.
func (p peers) run(
	ctx context.Context, result any, command, lock string, duration time.Duration, numbers ...int,
) error {
	path, err := rig.Binary("bench-peers")
	if err != nil {
		return err
	}
	args := []string{command, lock, duration.String()}
	for _, n := range numbers {
		args = append(args, strconv.Itoa(n))
	}
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.Env = append(os.Environ(), p...)
	out, err := cmd.Output()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return fmt.Errorf("%w: %s", err, exit.Stderr)
	}
	if err != nil {
		return err
	}
	return json.Unmarshal(out, result)
}
