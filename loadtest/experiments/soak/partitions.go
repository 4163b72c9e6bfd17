package soak

import (
	"context"
	"time"

	"example.com/flashsale/internal/faultproxy"
	"example.com/flashsale/loadtest/rig"
)

// commitStatement is the request of a COMMIT of its own, with its command byte.
// Batches that are committed in a single round trip do not contain it.
const commitStatement = "\x03COMMIT"

// commitWait bounds the wait for a COMMIT.
const commitWait = 5 * time.Second

// partition separates an instance from a server: packets are dropped in both
// directions, and neither side learns of it.
func partition(i, other *instance, server string, begin func(context.Context)) fault {
	return fault{
		what: "instance " + i.name + " partitioned from " + server, lasts: faultTime, other: other,
		strike: func(ctx context.Context) error { begin(ctx); return nil },
		heal: func() error {
			i.mysql.Heal()
			i.redis.Heal()
			return nil
		},
	}
}

func atOnce(p *faultproxy.Proxy) func(context.Context) {
	return func(context.Context) { p.Partition() }
}

// beforeCommit begins a partition from MySQL with a COMMIT that the server does
// not get: it keeps the locks of the transaction.
func beforeCommit(i *instance) func(context.Context) {
	return func(ctx context.Context) {
		i.mysql.PartitionBefore(commitStatement)
		awaitPartition(ctx, i.mysql)
	}
}

// afterCommit begins a partition from MySQL with a COMMIT whose reply is lost.
func afterCommit(i *instance) func(context.Context) {
	return func(ctx context.Context) {
		i.mysql.PartitionAfter(commitStatement)
		awaitPartition(ctx, i.mysql)
	}
}

// awaitPartition waits for the request that begins the partition of p. If there
// is none, the partition begins without.
func awaitPartition(ctx context.Context, p *faultproxy.Proxy) {
	for end := time.Now().Add(commitWait); !p.Partitioned() && time.Now().Before(end); {
		if !rig.Sleep(ctx, time.Millisecond) {
			break
		}
	}
	p.Partition()
}
