package lab

import (
	"context"
	"fmt"
	"strings"
)

const (
	masters = 3
	slots   = 16384
)

// startCluster starts six nodes and joins them to a cluster.
func startCluster(l *Lab) (t *Topology, err error) {
	t = &Topology{}
	var addrs []string
	for range 2 * masters {
		r, err := WithFreePort(func(port int) (*Redis, error) { return startClusterNode(l, port) })
		if err != nil {
			return nil, err
		}
		t.Nodes, addrs = append(t.Nodes, r), append(addrs, r.Address)
	}
	t.URL = "redis+cluster://" + addrs[0] + "?addr=" + strings.Join(addrs[1:], "&addr=")
	return t, t.join(context.Background())
}

// startClusterNode starts a node with a free port for its cluster bus as well. The
// bus's usual port, 10,000 above the client port, may be taken or out of range.
func startClusterNode(l *Lab, port int) (*Redis, error) {
	bus, err := FreePort()
	if err != nil {
		return nil, err
	}
	r, err := startRedisOnPort(l, port, append([]string{
		"--cluster-enabled", "yes", "--cluster-port", fmt.Sprint(bus), "--cluster-node-timeout", "1000",
		"--cluster-allow-replica-migration", "no",
	}, syncAtOnce...))
	r.port, r.bus = port, bus
	return r, err
}

// join makes a cluster of the nodes: the first ones share the slots, and each of the others
// is the replica of one. It ends when every replica has acknowledged all writes.
func (t *Topology) join(ctx context.Context) error {
	for i, r := range t.Nodes {
		if err := t.introduce(ctx, i, r); err != nil {
			return err
		}
	}
	if err := eventually(func(ctx context.Context) error {
		return t.expectInfo(ctx, "cluster_known_nodes:6", "cluster_slots_assigned:16384")
	}); err != nil {
		return err
	}
	for i, r := range t.Nodes[masters:] {
		id, err := doRedis(ctx, t.Nodes[i].URL, "CLUSTER", "MYID").Text()
		if err == nil {
			err = doRedis(ctx, r.URL, "CLUSTER", "REPLICATE", id).Err()
		}
		if err != nil {
			return err
		}
	}
	return eventually(func(ctx context.Context) error {
		err := t.expectInfo(ctx, "cluster_state:ok", "cluster_size:3")
		for _, r := range t.Nodes[:masters] {
			if err == nil {
				err = r.expectReplicas(ctx, 1)
			}
		}
		return err
	})
}

// introduce gives the i-th node a config epoch of its own, so that the masters need not
// resolve a collision of epochs, and its slots if it is a master. Then the first node meets it.
func (t *Topology) introduce(ctx context.Context, i int, r *Redis) error {
	err := doRedis(ctx, r.URL, "CLUSTER", "SET-CONFIG-EPOCH", i+1).Err()
	if err == nil && i < masters {
		err = doRedis(ctx, r.URL, "CLUSTER", "ADDSLOTSRANGE", i*slots/masters, (i+1)*slots/masters-1).Err()
	}
	if err == nil {
		err = doRedis(ctx, t.Nodes[0].URL, "CLUSTER", "MEET", "127.0.0.1", r.port, r.bus).Err()
	}
	return err
}

// expectInfo checks that the CLUSTER INFO of every node contains all parts.
func (t *Topology) expectInfo(ctx context.Context, parts ...string) error {
	for _, r := range t.Nodes {
		if err := expect(ctx, r.URL, "CLUSTER INFO", parts...); err != nil {
			return err
		}
	}
	return nil
}
