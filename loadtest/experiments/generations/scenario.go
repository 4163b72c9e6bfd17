package generations

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"example.com/flashsale/internal/lab"
	"example.com/flashsale/loadtest/holder"
	"example.com/flashsale/loadtest/report"
	"example.com/flashsale/loadtest/rig"
)

// An outcome says whether a fault broke a generation, and what was seen.
type outcome struct {
	Broke bool   `json:"broke"`
	Seen  string `json:"seen"`
}

func broke(format string, args ...any) outcome { return outcome{true, fmt.Sprintf(format, args...)} }
func held(format string, args ...any) outcome  { return outcome{false, fmt.Sprintf(format, args...)} }

// A scenario injects one fault into one generation, on servers of its own. Its processes
// contend for one key at a time.
// err is the error of the first step that failed. The outcome of a scenario with
// an error means nothing.
type scenario struct {
	ctx        context.Context
	lab        *lab.Lab
	generation generation
	redis      []*lab.Redis
	zookeeper  *lab.ZooKeeper
	closes     []func()
	err        error

	key       string
	begun     time.Duration   // of holder.Now, when the processes began to contend for the key
	processes []*process      // A, B, C
	struck    context.Context // ends when the fault of a step has struck; nil without one

	mu     sync.Mutex
	faults report.Lane // what no process did
}

func (s *scenario) startServers() (err error) {
	if s.generation.zookeeper {
		s.zookeeper, err = lab.StartZooKeeper(s.lab)
		return err
	}
	s.redis, err = lab.StartIndependentRedis(s.lab, max(1, s.generation.nodes))
	return err
}

func (s *scenario) close() {
	for _, end := range slices.Backward(s.closes) {
		end()
	}
	for _, r := range s.redis {
		r.Kill()
	}
	if s.zookeeper != nil {
		s.zookeeper.Kill()
	}
}

// check keeps the first error of the scenario.
func (s *scenario) check(err error) {
	if s.err == nil && err != nil {
		s.err = fmt.Errorf("%s: %w", s.generation.Name, err)
	}
}

// nextKey begins with another key, and other processes.
func (s *scenario) nextKey() {
	s.key, s.begun = "redis_lock:"+rand.Text(), holder.Now()
	s.processes, s.faults = nil, report.Lane{Name: "the fault"}
}

// place returns the milliseconds from the begin to a time of holder.Now.
func (s *scenario) place(at time.Duration) float64 { return rig.Milliseconds(at - s.begun) }

// happens records a fault.
func (s *scenario) happens(what string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	at := s.place(holder.Now())
	s.faults.Spans = append(s.faults.Spans, report.Span{Name: what, Kind: report.Fault, From: at, To: at})
}

// lanes returns the rows of the chart, of what the processes did with the last key.
func (s *scenario) lanes() (lanes []report.Lane) {
	for _, p := range s.processes {
		p.write() // a hold that nothing has ended lasts until now
		lanes = append(lanes, report.Holder("process "+p.name, p.lines, s.place))
	}
	s.mu.Lock() // an injected fault may still stop a renewal
	defer s.mu.Unlock()
	return append(lanes, s.faults)
}

// process returns the process of that number. It has connected to the servers of the time when
// it was first asked for.
func (s *scenario) process(number int) *process {
	for len(s.processes) <= number {
		p := &process{scenario: s, key: s.key, name: string(rune('A' + len(s.processes)))}
		for _, r := range s.redis {
			node := s.dial(r, p)
			s.check(node.Ping(s.ctx).Err()) // the handshake of a new connection must not count as the lock's commands
			p.nodes = append(p.nodes, node)
		}
		p.mutex = s.generation.newMutex(p)
		s.processes = append(s.processes, p)
	}
	return s.processes[number]
}

// dial returns a client of r whose commands limiter, if there is one, may refuse. It does
// not retry commands, like the articles' clients.
func (s *scenario) dial(r *lab.Redis, limiter redis.Limiter) *redis.Client {
	opts, err := redis.ParseURL(r.URL)
	s.check(err)
	opts.MaxRetries, opts.Limiter = -1, limiter
	opts.ReadTimeout = 2 * time.Second // the articles' clients have the same
	opts.DialTimeout = 2 * time.Second
	rdb := redis.NewClient(opts)
	s.closes = append(s.closes, func() { _ = rdb.Close() })
	return rdb
}

// tryLock calls the process's TryLock once and reports whether it locked.
func (s *scenario) tryLock(process int, ttl time.Duration) bool {
	ok, err := s.process(process).TryLock(s.ctx, ttl)
	s.check(err)
	return ok
}

// lock has the process lock the key, which must be free.
func (s *scenario) lock(process int, ttl time.Duration) {
	if !s.tryLock(process, ttl) {
		s.check(errors.New("a free lock was refused"))
	}
}

// lockWithin has the process try to lock until it does or limit is over, and returns how long
// that took.
func (s *scenario) lockWithin(process int, ttl, limit time.Duration) (took time.Duration, locked bool) {
	for start := time.Now(); took < limit && !locked && s.err == nil; took = time.Since(start) {
		if locked = s.tryLock(process, ttl); !locked {
			time.Sleep(5 * time.Millisecond)
		}
	}
	return took, locked
}

func (s *scenario) unlock(process int) { s.check(s.process(process).Unlock(s.ctx)) }
