package zklock_test

import (
	"context"
	"errors"
	"fmt"
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
func (e interopEnv) contend(t *testing.T, handovers int, contenders map[string]contender) {
	t.Helper()
	data, err := e.conn.Create("/counters-", []byte(labtest.NoCounters), zk.FlagSequence, zk.WorldACL(zk.PermAll))
	check.NoError(t, err)
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
	c, err := readCounters(e.conn, data)
	check.NoError(t, err)
	t.Log("acquisitions, handovers, the last contender, handovers between languages:", c)
	if int64(c.Acquisitions) != acquisitions.Load() || c.Handovers < handovers || c.BetweenLanguages == 0 {
		t.Errorf("%d acquisitions, want %d handovers, and some between Java and Go", acquisitions.Load(), handovers)
	}
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

// goContender contends by a lock.Client for the lock of key.
func (e interopEnv) goContender(client *lock.Client, key string) contender {
	return func(data string, handovers int, name string) (n int, err error) {
		for ; ; n++ {
			options := lock.Options{TTL: sessionTimeout, Wait: time.Minute}
			held, err := client.Acquire(context.Background(), key, options)
			if err != nil {
				return n, err
			}
			c, err := readCounters(e.conn, data)
			done := c.Handovers >= handovers
			if err == nil && !done {
				_, err = e.conn.Set(data, []byte(c.Add(name).String()), -1)
			}
			if err := errors.Join(err, held.Release(context.Background())); err != nil || done {
				return n, err
			}
		}
	}
}

// handover: two threads of Java and two goroutines, of two clients, hand one lock
// over 1,600 times.
func (e interopEnv) handover(t *testing.T) {
	key, contenders := labtest.Name(t), map[string]contender{}
	for i := range 2 {
		contenders[fmt.Sprintf("java%d", i)] = e.java(t, key)
		contenders[fmt.Sprintf("go%d", i)] = e.goContender(lock.New(open(t, e.server, sessionTimeout)), key)
	}
	e.contend(t, 1600, contenders)
}
