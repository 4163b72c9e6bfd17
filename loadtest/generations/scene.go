package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"example.com/flashsale/internal/lab"
)

// A mutex is a lock on one key, in one thread of one process, as the articles
// shape it.
type mutex interface {
	TryLock(ctx context.Context, ttl time.Duration) (bool, error)
	Unlock(ctx context.Context) error
}

// A generation is one way to write a lock.
type generation struct {
	Name  string
	nodes int // independent Redis servers that it needs
	open  func(p *process, key string) mutex
}

// An outcome is what a provocation did to a generation.
type outcome struct {
	Broke bool
	Seen  string
}

func broke(format string, args ...any) outcome { return outcome{true, fmt.Sprintf(format, args...)} }
func held(format string, args ...any) outcome  { return outcome{false, fmt.Sprintf(format, args...)} }

// long is a lease that does not end by itself within a scene.
const long = time.Minute

// A scene is one provocation of one generation on Redis servers of its own.
// After the first step that could not be done, err is set and what follows
// means nothing.
type scene struct {
	ctx       context.Context
	lab       *lab.Lab
	g         generation
	redis     []*lab.Redis
	resource  *resource
	processes []*process
	keys      int
	err       error
}

// play runs provoke against g.
func play(ctx context.Context, l *lab.Lab, r *resource, g generation, provoke func(*scene) outcome) (outcome, error) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	s := &scene{ctx: ctx, lab: l, g: g, resource: r}
	defer s.close()
	for range max(1, g.nodes) {
		node, err := l.RedisTCP()
		if err != nil {
			return outcome{}, err
		}
		s.redis = append(s.redis, node)
	}
	o := provoke(s)
	return o, s.err
}

func (s *scene) close() {
	for _, p := range s.processes {
		for _, node := range p.nodes {
			_ = node.Close()
		}
	}
	for _, r := range s.redis {
		r.Kill()
	}
}

func (s *scene) check(err error) {
	if s.err == nil && err != nil {
		s.err = fmt.Errorf("%s: %w", s.g.Name, err)
	}
}

// process starts a client of the servers that are there now. It does not
// repeat commands, as the articles' clients do not.
func (s *scene) process() *process {
	p := &process{thread: 1}
	for _, r := range s.redis {
		p.nodes = append(p.nodes, s.dial(r))
	}
	for _, node := range p.nodes {
		s.check(node.Ping(s.ctx).Err()) // a new connection's own commands are not the lock's
		node.AddHook(counted{p})
	}
	s.processes = append(s.processes, p)
	return p
}

func (s *scene) dial(r *lab.Redis) *redis.Client {
	opts, err := redis.ParseURL(r.URL)
	s.check(err)
	opts.MaxRetries = -1
	opts.ReadTimeout = 2 * time.Second // of the articles' clients too
	opts.DialTimeout = 2 * time.Second
	return redis.NewClient(opts)
}

func (s *scene) key() string {
	s.keys++
	return fmt.Sprintf("redis_lock:%d", s.keys)
}

// tries asks m once and reports whether it got the lock.
func (s *scene) tries(m mutex, ttl time.Duration) bool {
	ok, err := m.TryLock(s.ctx, ttl)
	s.check(err)
	return ok
}

// takes has m lock what is free.
func (s *scene) takes(m mutex, ttl time.Duration) {
	if !s.tries(m, ttl) {
		s.check(errors.New("did not get a lock that was free"))
	}
}

func (s *scene) lets(m mutex) { s.check(m.Unlock(s.ctx)) }

// observer asks a server beside the processes.
func (s *scene) observe(r *lab.Redis, ask func(rdb *redis.Client) error) {
	rdb := s.dial(r)
	defer rdb.Close()
	s.check(ask(rdb))
}

// forever reports whether key is there and will not end.
func (s *scene) forever(key string) (never bool) {
	s.observe(s.redis[0], func(rdb *redis.Client) error {
		ttl, err := rdb.PTTL(s.ctx, key).Result()
		never = ttl == -1 // go-redis leaves -1 without a unit
		return err
	})
	return never
}

// elapse lets the time of key's lease pass: for the server, not for us.
func (s *scene) elapse(key string) {
	for _, r := range s.redis {
		s.observe(r, func(rdb *redis.Client) error { return rdb.PExpire(s.ctx, key, time.Millisecond).Err() })
		s.await(r, key)
	}
}

// await waits until key has ended on r.
func (s *scene) await(r *lab.Redis, key string) {
	s.observe(r, func(rdb *redis.Client) error {
		for {
			n, err := rdb.Exists(s.ctx, key).Result()
			if err != nil || n == 0 {
				return err
			}
			time.Sleep(time.Millisecond)
		}
	})
}
