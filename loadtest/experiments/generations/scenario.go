package generations

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"example.com/flashsale/internal/lab"
	"example.com/flashsale/loadtest/report"
)

// An outcome says whether a fault broke a generation, and what was seen.
type outcome struct {
	Broke bool
	Seen  string
}

func broke(format string, args ...any) outcome { return outcome{true, fmt.Sprintf(format, args...)} }
func held(format string, args ...any) outcome  { return outcome{false, fmt.Sprintf(format, args...)} }

// longLease is longer than any scenario.
const longLease = time.Minute

// A scenario injects one fault into one generation, on servers of its own.
// err is the error of the first step that failed. The outcome of a scenario with
// an error means nothing.
type scenario struct {
	ctx        context.Context
	lab        *lab.Lab
	generation generation
	redis      []*lab.Redis
	zookeeper  *lab.ZooKeeper
	store      *fencedStore
	processes  []*process
	keys       int
	timeline   *timeline // of the last key
	err        error
}

// runScenario runs inject with g.
func runScenario(
	ctx context.Context, l *lab.Lab, store *fencedStore, g generation, inject func(*scenario) outcome,
) (outcome, []report.Lane, error) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	s := &scenario{ctx: ctx, lab: l, generation: g, store: store}
	defer s.close()
	if err := s.startServers(); err != nil {
		return outcome{}, nil, err
	}
	o := inject(s)
	if s.err != nil {
		return o, nil, s.err
	}
	return o, s.timeline.lanes(), nil
}

func (s *scenario) startServers() (err error) {
	if s.generation.zookeeper {
		s.zookeeper, err = lab.StartZooKeeper(s.lab)
		return err
	}
	for range max(1, s.generation.nodes) {
		node, err := lab.StartRedisTCP(s.lab)
		if err != nil {
			return err
		}
		s.redis = append(s.redis, node)
	}
	return nil
}

func (s *scenario) close() {
	for _, p := range s.processes {
		for _, end := range p.sessions {
			end()
		}
		for _, node := range p.nodes {
			_ = node.Close()
		}
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

// startProcess connects a process to the current servers. Its clients do not
// retry commands, like the articles' clients.
func (s *scenario) startProcess() *process {
	p := &process{thread: 1}
	if s.zookeeper != nil {
		p.zookeeper = s.zookeeper.Address
	}
	for _, r := range s.redis {
		p.nodes = append(p.nodes, s.dial(r))
	}
	for _, node := range p.nodes {
		s.check(node.Ping(s.ctx).Err()) // the handshake of a new connection must not count as the lock's commands
		node.AddHook(p)
	}
	s.processes = append(s.processes, p)
	return p
}

func (s *scenario) dial(r *lab.Redis) *redis.Client {
	opts, err := redis.ParseURL(r.URL)
	s.check(err)
	opts.MaxRetries = -1
	opts.ReadTimeout = 2 * time.Second // the articles' clients have the same
	opts.DialTimeout = 2 * time.Second
	return redis.NewClient(opts)
}

// newMutex opens key in a process of its own.
func (s *scenario) newMutex(key string) mutex {
	return s.newMutexIn(s.startProcess(), key)
}

// newMutexIn opens key in p.
func (s *scenario) newMutexIn(p *process, key string) mutex {
	p.timeline = s.timeline
	return s.timeline.record(s.generation.newMutex(p, key))
}

func (s *scenario) newKey() string {
	s.keys++
	s.timeline = newTimeline()
	return fmt.Sprintf("redis_lock:%d", s.keys)
}

// tryLock calls m.TryLock once and reports whether it locked.
func (s *scenario) tryLock(m mutex, ttl time.Duration) bool {
	ok, err := m.TryLock(s.ctx, ttl)
	s.check(err)
	return ok
}

// lock locks m, which must be free.
func (s *scenario) lock(m mutex, ttl time.Duration) {
	if !s.tryLock(m, ttl) {
		s.check(errors.New("a free lock was refused"))
	}
}

func (s *scenario) unlock(m mutex) { s.check(m.Unlock(s.ctx)) }

// withClient calls f with a client of r that belongs to no process.
func (s *scenario) withClient(r *lab.Redis, f func(rdb *redis.Client) error) {
	rdb := s.dial(r)
	defer rdb.Close()
	s.check(f(rdb))
}

// neverExpires reports whether key exists and has no TTL.
func (s *scenario) neverExpires(key string) (noTTL bool) {
	s.withClient(s.redis[0], func(rdb *redis.Client) error {
		ttl, err := rdb.PTTL(s.ctx, key).Result()
		noTTL = ttl == -1 // go-redis returns -1 ns here, not -1 ms
		return err
	})
	return noTTL
}

// expireLease ends key's lease on every server, as if its time had passed there.
// The process's clock does not advance.
func (s *scenario) expireLease(key string) {
	s.timeline.fault("the lease expires at the server")
	for _, r := range s.redis {
		s.withClient(r, func(rdb *redis.Client) error { return rdb.PExpire(s.ctx, key, time.Millisecond).Err() })
		s.waitExpired(r, key)
	}
}

// waitExpired waits until key does not exist on r.
func (s *scenario) waitExpired(r *lab.Redis, key string) {
	s.withClient(r, func(rdb *redis.Client) error {
		for {
			n, err := rdb.Exists(s.ctx, key).Result()
			if err != nil || n == 0 {
				return err
			}
			time.Sleep(time.Millisecond)
		}
	})
}
