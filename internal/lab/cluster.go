package lab

import (
	"context"
	"errors"
	"fmt"
	"net"

	"github.com/redis/go-redis/v9"
)

const (
	masters = 3
	slots   = 16384
)

// cluster starts six nodes and joins them. The bus of each has a port of its
// own choice, which is not always the usual one of 10,000 more.
func (l *Lab) cluster() (*Topology, error) {
	t := &Topology{}
	for range 2 * masters {
		r, err := l.redisTCP(func() ([]string, error) {
			bus, err := FreePort()
			return append([]string{
				"--cluster-enabled", "yes", "--cluster-port", fmt.Sprint(bus), "--cluster-node-timeout", "1000",
				"--cluster-allow-replica-migration", "no",
			}, quick...), err
		})
		if err != nil {
			return nil, err
		}
		t.Nodes = append(t.Nodes, r)
	}
	t.URL = "redis+cluster://" + t.Nodes[0].Address
	for _, r := range t.Nodes[1:] {
		t.URL += map[bool]string{true: "?", false: "&"}[r == t.Nodes[1]] + "addr=" + r.Address
	}
	for _, step := range []struct {
		do   func(context.Context, *Topology) error
		then []string // what all nodes must know before the next step
	}{
		{meet, []string{"cluster_known_nodes:6"}},
		{share, []string{"cluster_slots_assigned:16384"}},
		{replicate, []string{"cluster_state:ok", "cluster_size:3"}},
	} {
		if err := step.do(context.Background(), t); err != nil {
			return nil, err
		}
		if err := eventually(func(ctx context.Context) error { return t.all(ctx, step.then...) }); err != nil {
			return nil, err
		}
	}
	return t, eventually(t.replicated)
}

// meet introduces all nodes to the first, each with its bus's port, and gives
// the masters epochs of their own, over which they would otherwise quarrel.
func meet(ctx context.Context, t *Topology) error {
	for i, r := range t.Nodes {
		host, port, err := net.SplitHostPort(r.Address)
		if err != nil {
			return err
		}
		var bus string
		err = r.ask(ctx, func(rdb *redis.Client) error {
			set, err := rdb.ConfigGet(ctx, "cluster-port").Result()
			bus = set["cluster-port"]
			return errors.Join(err, rdb.Do(ctx, "CLUSTER", "SET-CONFIG-EPOCH", i+1).Err())
		})
		if err != nil {
			return err
		}
		err = t.Nodes[0].ask(ctx, func(rdb *redis.Client) error { return rdb.Do(ctx, "CLUSTER", "MEET", host, port, bus).Err() })
		if err != nil {
			return err
		}
	}
	return nil
}

// share gives the slots to the masters.
func share(ctx context.Context, t *Topology) error {
	for i, r := range t.Nodes[:masters] {
		from, to := i*slots/masters, (i+1)*slots/masters-1
		err := r.ask(ctx, func(rdb *redis.Client) error {
			return rdb.ClusterAddSlotsRange(ctx, from, to).Err()
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// replicate gives each master one of the others.
func replicate(ctx context.Context, t *Topology) error {
	for i, r := range t.Nodes[masters:] {
		var id string
		err := t.Nodes[i].ask(ctx, func(rdb *redis.Client) (err error) {
			id, err = rdb.ClusterMyID(ctx).Result()
			return err
		})
		if err != nil {
			return err
		}
		if err := r.ask(ctx, func(rdb *redis.Client) error { return rdb.ClusterReplicate(ctx, id).Err() }); err != nil {
			return err
		}
	}
	return nil
}

// replicated checks that every master has its replica.
func (t *Topology) replicated(ctx context.Context) error {
	for _, r := range t.Nodes[:masters] {
		if err := r.acknowledged(ctx, 1); err != nil {
			return err
		}
	}
	return nil
}

// all checks that every node says these words of the cluster.
func (t *Topology) all(ctx context.Context, words ...string) error {
	for _, r := range t.Nodes {
		if err := r.ask(ctx, func(rdb *redis.Client) error { return says(rdb.ClusterInfo(ctx), words...) }); err != nil {
			return err
		}
	}
	return nil
}
