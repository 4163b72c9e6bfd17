package zklock_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"example.com/flashsale/internal/check"
	"example.com/flashsale/internal/lab/labtest"
	"example.com/flashsale/internal/lock"
)

// An interopReport is the result that `make interop` writes.
type interopReport struct {
	Curator          string             `json:"curator"` // version
	Acquisitions     int                `json:"acquisitions"`
	Handovers        int                `json:"handovers"`
	BetweenLanguages int                `json:"between_languages"`
	PerSecond        map[string]float64 `json:"handovers_per_second"` // medians, in turns
	Ratio            map[string]float64 `json:"ratio"`                // of zklock to the others, median of the turns
	Pass             bool               `json:"pass"`
}

func (r *interopReport) write(t *testing.T) {
	t.Helper()
	r.Pass = !t.Failed()
	labtest.WriteInterop(t, r)
}

func readCounters(conn *zk.Conn, path string) (labtest.Counters, error) {
	text, _, err := conn.Get(path)
	if err != nil {
		return labtest.Counters{}, err
	}
	return labtest.ParseCounters(string(text))
}

// A contender acquires a lock until it has been handed over often enough, and
// returns the number of its own acquisitions.
type contender func(data string, handovers int, name string) (int, error)

// contend lets contenders have the lock until it has been handed from one to
// another that often. Every acquisition must have been counted.
func (e interopEnv) contend(
	t *testing.T, handovers int, contenders map[string]contender,
) (labtest.Counters, time.Duration) {
	t.Helper()
	data, err := e.conn.Create("/counters-", []byte(labtest.NoCounters), zk.FlagSequence, zk.WorldACL(zk.PermAll))
	check.NoError(t, err)
	start := time.Now()
	var acquisitions atomic.Int64
	var group sync.WaitGroup
	for name, contend := range contenders {
		group.Go(func() {
			n, err := contend(data, handovers, name)
			if err != nil {
				t.Errorf("%s: %v", name, err)
			}
			acquisitions.Add(int64(n))
		})
	}
	group.Wait()
	took := time.Since(start)
	c, err := readCounters(e.conn, data)
	check.NoError(t, err)
	if int64(c.Acquisitions) != acquisitions.Load() || c.Handovers < handovers {
		t.Errorf("%d acquisitions, of which %d were counted, and %d handovers, want %d", acquisitions.Load(),
			c.Acquisitions, c.Handovers, handovers)
	}
	return c, took
}

// java returns a thread of Java that contends for the lock of key.
func (e interopEnv) java(t *testing.T, key string) contender {
	th := e.Thread(t)
	return func(data string, handovers int, name string) (int, error) {
		reply, err := th.Call("contend", path(key), data, handovers, name)
		if err != nil {
			return 0, err
		}
		n, err := strconv.Atoi(reply)
		if err != nil {
			err = errors.New(reply)
		}
		return n, err
	}
}

// goContender contends with conn for the counters, and by acquire for the lock.
func goContender(conn *zk.Conn, acquire func() (release func() error, err error)) contender {
	return func(data string, handovers int, name string) (n int, err error) {
		for ; ; n++ {
			release, err := acquire()
			if err != nil {
				return n, err
			}
			c, err := readCounters(conn, data)
			done := c.Handovers >= handovers
			if err == nil && !done {
				_, err = conn.Set(data, []byte(c.Add(name).String()), -1)
			}
			if err := errors.Join(err, release()); err != nil || done {
				return n, err
			}
		}
	}
}

// ours returns a contender that uses a lock.Client.
func (e interopEnv) ours(conn *zk.Conn, client *lock.Client, key string) contender {
	return goContender(conn, func() (func() error, error) {
		held, err := client.Acquire(context.Background(), key, lock.Options{TTL: sessionTimeout, Wait: time.Minute})
		if err != nil {
			return nil, err
		}
		return func() error { return held.Release(context.Background()) }, nil
	})
}

// handover: two threads of Java and two goroutines, of two clients, hand one lock
// over 1,600 times.
func (e interopEnv) handover(t *testing.T) {
	key, contenders := labtest.Name(t), map[string]contender{}
	for i := range 2 {
		contenders[fmt.Sprintf("java%d", i)] = e.java(t, key)
		contenders[fmt.Sprintf("go%d", i)] = e.ours(e.conn, lock.New(open(t, e.server, sessionTimeout)), key)
	}
	c, took := e.contend(t, 1600, contenders)
	e.report.Acquisitions, e.report.Handovers, e.report.BetweenLanguages = c.Acquisitions, c.Handovers,
		c.BetweenLanguages
	t.Logf("%d acquisitions, %d handovers, %d between Java and Go, %.1f s", c.Acquisitions, c.Handovers,
		c.BetweenLanguages, took.Seconds())
}

// rates measures how often a second four waiters of one process hand a lock
// over, in turns: Curator, go-zookeeper's Lock and this package.
func (e interopEnv) rates(t *testing.T) {
	const rounds, handovers, waiters = 15, 100, 4
	client := lock.New(open(t, e.server, sessionTimeout))
	libraries := map[string]func(key string) contender{
		"curator":     func(key string) contender { return e.java(t, key) },
		"gozookeeper": func(key string) contender { return goContender(e.conn, goZooKeeper(e.conn, key)) },
		"zklock":      func(key string) contender { return e.ours(e.conn, client, key) },
	}
	rates, ratios := map[string][]float64{}, map[string][]float64{}
	for range rounds {
		round := map[string]float64{}
		for name, library := range libraries { // in another order each time
			key, contenders := labtest.Name(t), map[string]contender{}
			for i := range waiters {
				contenders[fmt.Sprintf("%s%d", name, i)] = library(key)
			}
			_, took := e.contend(t, handovers, contenders)
			round[name] = handovers / took.Seconds()
		}
		for name, rate := range round {
			rates[name] = append(rates[name], rate)
			ratios[name] = append(ratios[name], round["zklock"]/rate)
		}
	}
	e.report.PerSecond, e.report.Ratio = medians(rates), medians(ratios)
	for name, rate := range e.report.PerSecond {
		t.Logf("%-12s %6.0f handovers/s; zklock makes %.2f times as many", name, rate, e.report.Ratio[name])
	}
}

func medians(values map[string][]float64) map[string]float64 {
	m := map[string]float64{}
	for name, v := range values {
		slices.Sort(v)
		m[name] = v[len(v)/2]
	}
	return m
}

// goZooKeeper returns a Lock of the client library.
func goZooKeeper(conn *zk.Conn, key string) func() (func() error, error) {
	l := zk.NewLock(conn, path(key), zk.WorldACL(zk.PermAll))
	return func() (func() error, error) { return l.Unlock, l.Lock() }
}
