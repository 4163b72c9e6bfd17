package lab

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"

	"github.com/redis/go-redis/v9"
)

const (
	masters = 3
	slots   = 16384
)

// startCluster starts six nodes and joins them to a cluster.
func startCluster(l *Lab) (*Topology, error) {
	nodes, err := startEach(2*masters, func(int) (*Redis, error) {
		return WithFreePort(func(port int) (*Redis, error) { return startClusterNode(l, port) })
	})
	if err != nil {
		return nil, err
	}
	t := &Topology{Nodes: nodes}
	var addrs []string
	for _, r := range nodes {
		addrs = append(addrs, r.Address)
	}
	t.URL = "redis+cluster://" + addrs[0] + "?addr=" + strings.Join(addrs[1:], "&addr=")
	return t, t.join()
}

// startClusterNode starts a node with a free port for its cluster bus as well. The
// bus's usual port, 10,000 above the client port, may be taken or out of range.
func startClusterNode(l *Lab, port int) (*Redis, error) {
	bus, err := FreePort()
	if err != nil {
		return nil, err
	}
	return startRedisOnPort(l, port, append([]string{
		"--cluster-enabled", "yes", "--cluster-port", fmt.Sprint(bus), "--cluster-node-timeout", "1000",
		"--cluster-allow-replica-migration", "no",
	}, syncAtOnce...))
}

// join makes a cluster of the nodes. Each step ends when every node reports
// the step's result in CLUSTER INFO.
func (t *Topology) join() error {
	for _, step := range []struct {
		run    func(context.Context, *Topology) error
		result []string
	}{
		{clusterMeet, []string{"cluster_known_nodes:6"}},
		{assignSlots, []string{"cluster_slots_assigned:16384"}},
		{assignReplicas, []string{"cluster_state:ok", "cluster_size:3"}},
	} {
		if err := step.run(context.Background(), t); err != nil {
			return err
		}
		if err := eventually(func(ctx context.Context) error { return t.expectInfo(ctx, step.result) }); err != nil {
			return err
		}
	}
	return eventually(t.expectReplicated)
}

// clusterMeet introduces all nodes to the first one, each with its bus port. It
// gives every node a config epoch of its own, so that the masters need not
// resolve a collision of epochs first.
func clusterMeet(ctx context.Context, t *Topology) error {
	for i, r := range t.Nodes {
		host, port, err := net.SplitHostPort(r.Address)
		if err != nil {
			return err
		}
		var bus string
		err = r.withClient(func(rdb *redis.Client) error {
			set, err := rdb.ConfigGet(ctx, "cluster-port").Result()
			bus = set["cluster-port"]
			return errors.Join(err, rdb.Do(ctx, "CLUSTER", "SET-CONFIG-EPOCH", i+1).Err())
		})
		if err != nil {
			return err
		}
		err = t.Nodes[0].withClient(func(rdb *redis.Client) error {
			return rdb.Do(ctx, "CLUSTER", "MEET", host, port, bus).Err()
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// assignSlots divides the slots among the masters.
func assignSlots(ctx context.Context, t *Topology) error {
	for i, r := range t.Nodes[:masters] {
		from, to := i*slots/masters, (i+1)*slots/masters-1
		err := r.withClient(func(rdb *redis.Client) error {
			return rdb.ClusterAddSlotsRange(ctx, from, to).Err()
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// assignReplicas makes each of the other nodes the replica of one master.
func assignReplicas(ctx context.Context, t *Topology) error {
	for i, r := range t.Nodes[masters:] {
		var id string
		err := t.Nodes[i].withClient(func(rdb *redis.Client) (err error) {
			id, err = rdb.ClusterMyID(ctx).Result()
			return err
		})
		if err != nil {
			return err
		}
		err = r.withClient(func(rdb *redis.Client) error { return rdb.ClusterReplicate(ctx, id).Err() })
		if err != nil {
			return err
		}
	}
	return nil
}

// expectReplicated checks that every master's replica has acknowledged all
// writes.
func (t *Topology) expectReplicated(ctx context.Context) error {
	for _, r := range t.Nodes[:masters] {
		if err := r.expectReplicas(ctx, 1); err != nil {
			return err
		}
	}
	return nil
}

// expectInfo checks that the CLUSTER INFO of every node contains all parts.
func (t *Topology) expectInfo(ctx context.Context, parts []string) error {
	for _, r := range t.Nodes {
		err := r.withClient(func(rdb *redis.Client) error { return expect(rdb.ClusterInfo(ctx), parts...) })
		if err != nil {
			return err
		}
	}
	return nil
}
