package main

import (
	"context"
	"crypto/rand"
	"errors"
	"strconv"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"example.com/flashsale/internal/check"
	"example.com/flashsale/internal/lock"
	"example.com/flashsale/loadtest/stats"
)

// A contest is clients with some waiters each that want one lock. Between two attempts a waiter pauses.
type contest struct {
	way
	clients, waiters int
	section, pause   time.Duration

	key string

	mu                                   sync.Mutex
	inside, overlaps, refused, handOvers int
	last                                 int             // waiter that had the lock
	waits                                []time.Duration // of those that had the lock
}

// A usage is what the server has read, and the CPU time of the server and of this process, which is
// the clients, in µs.
type usage struct{ requests, server, clients float64 }

// run lets the waiters contend for a time, and reports what a hand-over took. Two holders at one moment
// fail the benchmark.
func (c *contest) run(b *testing.B) {
	b.Helper()
	c.key = rand.Text()
	opened := make([]acquire, c.clients)
	for i := range opened {
		opened[i] = c.open(b)
		unlock, err := opened[i](b.Context(), rand.Text()) // opens connections, loads scripts
		if err == nil {
			err = unlock()
		}
		check.NoError(b, err)
	}
	before := readUsage(b)
	ctx, cancel := context.WithTimeout(b.Context(), duration)
	defer cancel()
	var all errgroup.Group
	for i := range c.clients * c.waiters {
		all.Go(func() error { return c.contend(ctx, i, opened[i%c.clients]) })
	}
	err := all.Wait()
	after := readUsage(b)
	if err != nil || c.handOvers == 0 || c.overlaps > 0 || c.leaves != (c.refused > 0) {
		b.Fatalf("%v; %d hand-overs, %d to a second holder, %d refused", err, c.handOvers, c.overlaps, c.refused)
	}
	c.report(b, usage{after.requests - before.requests, after.server - before.server, after.clients - before.clients})
}

func (c *contest) report(b *testing.B, used usage) {
	b.Helper()
	n, attempts := float64(c.handOvers), float64(c.refused+len(c.waits))
	ms := func(q float64) float64 { return stats.Quantile(c.waits, q).Seconds() * 1000 }
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(n/duration.Seconds(), "hand-overs-per-s")
	b.ReportMetric(100*float64(c.refused)/attempts, "gave-up-%")
	b.ReportMetric(used.requests/n, "requests")
	b.ReportMetric(used.server/n, "redis-µs")
	b.ReportMetric(used.clients/n, "clients-µs")
	b.ReportMetric(ms(0.5), "p50-ms")
	b.ReportMetric(ms(0.99), "p99-ms")
}

// contend takes the lock again and again until ctx ends.
func (c *contest) contend(ctx context.Context, waiter int, acquire acquire) error {
	for ctx.Err() == nil {
		start := time.Now()
		unlock, err := acquire(ctx, c.key)
		switch {
		case ctx.Err() != nil && err != nil:
			return nil //nolint:nilerr // the contest is over
		case errors.Is(err, lock.ErrLocked) && c.leaves:
			c.count(func() { c.refused++ })
		case err != nil:
			return err
		default:
			c.count(func() { c.enter(waiter, time.Since(start)) })
			time.Sleep(c.section)
			c.count(func() { c.inside-- })
			if err := unlock(); err != nil && ctx.Err() == nil {
				return err
			}
		}
		time.Sleep(c.pause)
	}
	return nil
}

func (c *contest) count(what func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	what()
}

func (c *contest) enter(waiter int, wait time.Duration) {
	c.waits = append(c.waits, wait)
	if c.inside++; c.inside > 1 {
		c.overlaps++
	}
	if c.last != waiter || len(c.waits) == 1 {
		c.last = waiter
		c.handOvers++
	}
}

func readUsage(b *testing.B) (u usage) {
	b.Helper()
	info := plain(b).InfoMap(b.Context(), "stats", "cpu")
	number := func(section, name string) float64 {
		n, err := strconv.ParseFloat(info.Item(section, name), 64)
		check.NoError(b, errors.Join(info.Err(), err))
		return n
	}
	u.requests = number("Stats", "total_reads_processed")
	u.server = 1e6 * (number("CPU", "used_cpu_user") + number("CPU", "used_cpu_sys"))
	var self syscall.Rusage
	check.NoError(b, syscall.Getrusage(syscall.RUSAGE_SELF, &self))
	u.clients = float64(time.Duration(self.Utime.Nano() + self.Stime.Nano()).Microseconds())
	return u
}
