package waits

import (
	"context"
	"crypto/rand"
	"errors"
	"strconv"
	"sync"
	"syscall"
	"time"

	"github.com/redis/go-redis/v9"
	"golang.org/x/sync/errgroup"

	"example.com/flashsale/internal/connect"
	"example.com/flashsale/internal/lock"
	"example.com/flashsale/internal/lock/redislock"
	"example.com/flashsale/loadtest/rig"
	"example.com/flashsale/loadtest/stats"
)

// A contest is the clients' work on one key.
type contest struct {
	section time.Duration
	key     string

	mu                        sync.Mutex
	inside, overlaps, refused int
	waits                     []time.Duration // of those that had the lock
}

// measure lets clients contend for one lock.
func measure(ctx context.Context, url string, section time.Duration, w waiter) (Row, error) {
	server, err := connect.Redis(url, 1)
	if err != nil {
		return Row{}, err
	}
	defer server.Close()
	connected, err := connectClients(ctx, url)
	if err != nil {
		return Row{}, err
	}
	c := &contest{section: section, key: rand.Text()}
	before, err := readUsage(ctx, server)
	if err != nil {
		return Row{}, err
	}
	start := time.Now()
	err = c.run(ctx, connected, w)
	took := time.Since(start)
	after, usageErr := readUsage(ctx, server)
	return c.row(w, took, after.since(before)), errors.Join(err, usageErr)
}

// connectClients returns clients that have a connection each, so that no handshake is
// counted. The run of contest closes them.
func connectClients(ctx context.Context, url string) (all []redis.UniversalClient, err error) {
	for range clients {
		rdb, err := connect.Redis(url, 4)
		if err == nil {
			err = rdb.Ping(ctx).Err()
		}
		if err != nil {
			return nil, err
		}
		all = append(all, rdb)
	}
	return all, nil
}

func (c *contest) run(ctx context.Context, connected []redis.UniversalClient, w waiter) error {
	limited, cancel := context.WithTimeout(ctx, duration)
	defer cancel()
	var all errgroup.Group
	for _, rdb := range connected {
		defer rdb.Close()
		all.Go(func() error { return c.contend(limited, w, w.open(redislock.New(rdb))) })
	}
	return all.Wait()
}

// contend takes the lock again and again until ctx ends. Between two attempts it
// pauses for the length of a section, so that it does not hand the lock to itself.
func (c *contest) contend(ctx context.Context, w waiter, acquire acquire) error {
	for ctx.Err() == nil {
		start := time.Now()
		release, err := acquire(ctx, c.key)
		switch {
		case ctx.Err() != nil && err != nil:
			return nil //nolint:nilerr // the contest is over
		case errors.Is(err, lock.ErrLocked) && w.leaves:
			c.refuse()
		case err != nil:
			return err
		default:
			c.enter(time.Since(start))
			time.Sleep(c.section)
			c.leave()
			if err := release(context.WithoutCancel(ctx)); err != nil {
				return err
			}
		}
		time.Sleep(max(c.section, time.Millisecond))
	}
	return nil
}

func (c *contest) refuse() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.refused++
}

func (c *contest) enter(wait time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.waits = append(c.waits, wait)
	if c.inside++; c.inside > 1 {
		c.overlaps++
	}
}

func (c *contest) leave() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.inside--
}

func (c *contest) row(w waiter, took time.Duration, used usage) Row {
	n := float64(len(c.waits))
	return Row{
		SectionMS: rig.Milliseconds(c.section), Waiter: w.name, HandOvers: len(c.waits), Overlaps: c.overlaps,
		Refused:  100 * float64(c.refused) / (float64(c.refused) + n),
		Busy:     100 * n * c.section.Seconds() / took.Seconds(),
		Requests: used.requests / n, ServerCPU: used.server * 1e6 / n, ClientCPU: used.clients * 1e6 / n,
		WaitP50: rig.Milliseconds(stats.Quantile(c.waits, 0.5)),
		WaitP99: rig.Milliseconds(stats.Quantile(c.waits, 0.99)),
		Pass:    n > 0 && c.overlaps == 0,
	}
}

// A usage is what the server has read, and the CPU time of the server and of this
// process, which are the clients, in seconds.
type usage struct{ requests, server, clients float64 }

func readUsage(ctx context.Context, server redis.UniversalClient) (u usage, err error) {
	info := server.InfoMap(ctx, "stats", "cpu")
	if err := info.Err(); err != nil {
		return u, err
	}
	var errs []error
	number := func(section, name string) float64 {
		n, err := strconv.ParseFloat(info.Item(section, name), 64)
		errs = append(errs, err)
		return n
	}
	u.requests = number("Stats", "total_reads_processed")
	u.server = number("CPU", "used_cpu_user") + number("CPU", "used_cpu_sys")
	var self syscall.Rusage
	errs = append(errs, syscall.Getrusage(syscall.RUSAGE_SELF, &self))
	u.clients = time.Duration(self.Utime.Nano() + self.Stime.Nano()).Seconds()
	return u, errors.Join(errs...)
}

func (u usage) since(before usage) usage {
	return usage{u.requests - before.requests, u.server - before.server, u.clients - before.clients}
}
