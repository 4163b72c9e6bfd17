package lab

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

// A Topology is Redis in one of its shapes.
type Topology struct {
	Name string
	// URL is what REDIS_URL takes.
	URL string
	// Nodes are the servers, those that began as masters first.
	Nodes     []*Redis
	Sentinels []*Server
}

// Topologies are the names that Shape takes.
var Topologies = []string{"single", "replicas", "sentinel", "cluster"}

// Topology starts Redis in the shape called name: one server; a master with three
// replicas; those with three sentinels; a cluster of three masters with a
// replica each. What is left of a start that failed ends with the lab.
func (l *Lab) Topology(name string) (*Topology, error) {
	starts := map[string]func() (*Topology, error){
		"single": l.single, "replicas": l.replicas, "sentinel": l.sentinel, "cluster": l.cluster,
	}
	start := starts[name]
	if start == nil {
		return nil, fmt.Errorf("lab: no Redis of the shape %q", name)
	}
	t, err := start()
	if err != nil {
		return nil, fmt.Errorf("lab: Redis as %s: %w", name, err)
	}
	t.Name = name
	return t, nil
}

// IndependentRedis starts n servers that know nothing of each other, as RedLock
// wants them.
func (l *Lab) IndependentRedis(n int) ([]*Redis, error) {
	var all []*Redis
	for range n {
		r, err := l.RedisTCP()
		if err != nil {
			return nil, err
		}
		all = append(all, r)
	}
	return all, nil
}

// Kill ends all its servers.
func (t *Topology) Kill() {
	for _, s := range t.Sentinels {
		s.Kill()
	}
	for _, r := range t.Nodes {
		r.Kill()
	}
}

// Master is the living server that key is written to now.
func (t *Topology) Master(ctx context.Context, key string) (*Redis, error) {
	for _, r := range t.Nodes {
		select {
		case <-r.Exited():
			continue
		default:
		}
		if err := r.ask(ctx, func(rdb *redis.Client) error { return rdb.Do(ctx, "SET", key+":where", "", "PX", 1).Err() }); err == nil {
			return r, nil // another refuses, or redirects
		}
	}
	return nil, fmt.Errorf("lab: %s: no master for %s", t.Name, key)
}

// ask opens a client for one question.
func (r *Redis) ask(ctx context.Context, question func(*redis.Client) error) error {
	opts, err := redis.ParseURL(r.URL)
	if err != nil {
		return err
	}
	opts.MaxRetries = -1
	rdb := redis.NewClient(opts)
	defer rdb.Close()
	return question(rdb)
}

func (l *Lab) single() (*Topology, error) {
	r, err := l.RedisTCP()
	if err != nil {
		return nil, err
	}
	return &Topology{URL: r.URL, Nodes: []*Redis{r}}, nil
}

// quick lets a replica begin its first copy at once.
var quick = []string{"--repl-diskless-sync-delay", "0"}

func (l *Lab) replicas() (*Topology, error) {
	master, err := l.RedisTCP(quick...)
	if err != nil {
		return nil, err
	}
	t := &Topology{URL: master.URL, Nodes: []*Redis{master}}
	host, port, err := net.SplitHostPort(master.Address)
	if err != nil {
		return nil, err
	}
	for range 3 {
		r, err := l.RedisTCP(append([]string{"--replicaof", host + " " + port}, quick...)...)
		if err != nil {
			return nil, err
		}
		t.Nodes = append(t.Nodes, r)
	}
	return t, eventually(func(ctx context.Context) error {
		return master.acknowledged(ctx, 3)
	})
}

// acknowledged checks that n replicas are in step with r.
func (r *Redis) acknowledged(ctx context.Context, n int) error {
	return r.ask(ctx, func(rdb *redis.Client) error {
		acks, err := rdb.Wait(ctx, n, 100*time.Millisecond).Result()
		if err == nil && int(acks) < n {
			err = fmt.Errorf("%d of %d replicas", acks, n)
		}
		return err
	})
}

func (l *Lab) sentinel() (*Topology, error) {
	t, err := l.replicas()
	if err != nil {
		return nil, err
	}
	var addrs []string
	for range 3 {
		s, address, err := l.oneSentinel(t.Nodes[0].Address)
		if err != nil {
			return nil, err
		}
		t.Sentinels, addrs = append(t.Sentinels, s), append(addrs, address)
	}
	t.URL = "redis+sentinel://" + addrs[0] + "/0?master_name=main&addr=" + strings.Join(addrs[1:], "&addr=")
	return t, eventually(func(ctx context.Context) error {
		var errs []error
		for _, address := range addrs {
			r := Redis{URL: "redis://" + address}
			errs = append(errs, r.ask(ctx, func(rdb *redis.Client) error {
				return says(rdb.Info(ctx, "sentinel"), "status=ok", "slaves=3", "sentinels=3")
			}))
		}
		return errors.Join(errs...)
	})
}

// oneSentinel starts a sentinel that gives a silent master half a second. It
// keeps what it learns in its configuration, which therefore is a file.
func (l *Lab) oneSentinel(master string) (s *Server, address string, err error) {
	path, err := LookPath("redis-server", "valkey-server")
	if err != nil {
		return nil, "", err
	}
	host, port, err := net.SplitHostPort(master)
	if err != nil {
		return nil, "", err
	}
	for range 5 { // another process may take the port first
		var own int
		if own, err = FreePort(); err != nil {
			return nil, "", err
		}
		var dir string
		if dir, err = l.Dir("sentinel"); err != nil {
			return nil, "", err
		}
		file := filepath.Join(dir, "sentinel.conf")
		conf := fmt.Sprintf("bind 127.0.0.1\nport %d\ndir %s\nsentinel monitor main %s %s 2\n"+
			"sentinel down-after-milliseconds main 500\nsentinel failover-timeout main 3000\n", own, dir, host, port)
		if err = os.WriteFile(file, []byte(conf), 0o644); err != nil {
			return nil, "", err
		}
		address = fmt.Sprintf("127.0.0.1:%d", own)
		s, err = l.Start(Program{
			Name: "sentinel", Path: path, Args: []string{file, "--sentinel"}, Dir: dir,
			Ready: func(ctx context.Context) error { return pingRedis(ctx, "redis://"+address) },
		})
		if err == nil {
			return s, address, nil
		}
	}
	return nil, "", err
}

// says checks that an answer contains all words.
func says(answer *redis.StringCmd, words ...string) error {
	text, err := answer.Result()
	if err != nil {
		return err
	}
	for _, word := range words {
		if !strings.Contains(text, word) {
			return fmt.Errorf("no %s in %q", word, text)
		}
	}
	return nil
}

// eventually polls until ok, for as long as a server may take to start.
func eventually(ok func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
	defer cancel()
	for {
		err := ok(ctx)
		if err == nil || ctx.Err() != nil {
			return err
		}
		time.Sleep(20 * time.Millisecond)
	}
}
