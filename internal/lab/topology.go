package lab

import (
	"context"
	"fmt"
	"net"
	"strings"
	"time"
)

// Topologies are the names that StartTopology takes.
var Topologies = []string{"single", "replicas", "sentinel", "cluster"}

// A Topology is a group of Redis servers that work together.
type Topology struct {
	Name string
	// URL is the value of REDIS_URL.
	URL string
	// Nodes are the servers, initial masters first.
	Nodes     []*Redis
	Sentinels []*Server
}

// StartTopology starts Redis in the named topology: one server (single), a master
// with three replicas (replicas), the same with three sentinels (sentinel), or
// a cluster of three masters with one replica each (cluster). Servers of a
// topology that failed to start run until the lab closes.
func StartTopology(l *Lab, name string) (*Topology, error) {
	starts := map[string]func(*Lab) (*Topology, error){
		"single": startSingle, "replicas": startReplicas, "sentinel": startSentinelTopology, "cluster": startCluster,
	}
	start := starts[name]
	if start == nil {
		return nil, fmt.Errorf("lab: no Redis topology %q", name)
	}
	t, err := start(l)
	if err != nil {
		return nil, fmt.Errorf("lab: Redis topology %s: %w", name, err)
	}
	t.Name = name
	return t, nil
}

// StartIndependentRedis starts n servers without replication between them, as
// Redlock requires.
func StartIndependentRedis(l *Lab, n int) ([]*Redis, error) {
	return startEach(n, func(int) (*Redis, error) { return StartRedisTCP(l) })
}

// Kill ends all servers and sentinels of t.
func (t *Topology) Kill() {
	killAll(t.Sentinels)
	killAll(t.Nodes)
}

// Master returns the running server that now accepts writes of key.
func (t *Topology) Master(ctx context.Context, key string) (*Redis, error) {
	for _, r := range t.Nodes {
		select {
		case <-r.Exited():
			continue
		default:
		}
		// A replica refuses the write, and another master of a cluster redirects it.
		if doRedis(ctx, r.URL, "SET", key+":where", "", "PX", 1).Err() == nil {
			return r, nil
		}
	}
	return nil, fmt.Errorf("lab: %s: no master for %s", t.Name, key)
}

func startSingle(l *Lab) (*Topology, error) {
	r, err := StartRedisTCP(l)
	if err != nil {
		return nil, err
	}
	return &Topology{URL: r.URL, Nodes: []*Redis{r}}, nil
}

// syncAtOnce makes a master begin a replica's first copy without a delay.
var syncAtOnce = []string{"--repl-diskless-sync-delay", "0"}

func startReplicas(l *Lab) (*Topology, error) {
	master, err := StartRedisTCP(l, syncAtOnce...)
	if err != nil {
		return nil, err
	}
	replicas, err := StartReplicas(l, master, 3)
	return &Topology{URL: master.URL, Nodes: append([]*Redis{master}, replicas...)}, err
}

// StartReplicas starts n replicas of master, which has none, and returns when they have all of
// its data.
func StartReplicas(l *Lab, master *Redis, n int) ([]*Redis, error) {
	host, port, err := net.SplitHostPort(master.Address)
	if err != nil {
		return nil, err
	}
	replicas, err := startEach(n, func(int) (*Redis, error) {
		return StartRedisTCP(l, append([]string{"--replicaof", host + " " + port}, syncAtOnce...)...)
	})
	if err != nil {
		return nil, err
	}
	return replicas, eventually(func(ctx context.Context) error { return master.expectReplicas(ctx, n) })
}

// expectReplicas checks that n replicas have acknowledged all writes of r.
func (r *Redis) expectReplicas(ctx context.Context, n int) error {
	acks, err := doRedis(ctx, r.URL, "WAIT", n, 100).Int()
	if err == nil && acks < n {
		err = fmt.Errorf("%d of %d replicas", acks, n)
	}
	return err
}

// expect checks that the reply of the server at url to a command contains all parts.
func expect(ctx context.Context, url, command string, parts ...string) error {
	var args []any
	for word := range strings.FieldsSeq(command) {
		args = append(args, word)
	}
	text, err := doRedis(ctx, url, args...).Text()
	for _, part := range parts {
		if err == nil && !strings.Contains(text, part) {
			err = fmt.Errorf("no %s in %q", part, text)
		}
	}
	return err
}

// eventually calls check until it succeeds, for at most startTimeout, and
// returns its last error.
func eventually(check func(context.Context) error) error { return within(startTimeout, check) }

func within(limit time.Duration, check func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	for {
		err := check(ctx)
		if err == nil || ctx.Err() != nil {
			return err
		}
		time.Sleep(20 * time.Millisecond)
	}
}
