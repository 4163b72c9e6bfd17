// Package redisson speaks the wire format of Redisson (3.24 to 4.7), so that
// Go and Java share locks, semaphores and latches: the same keys, the same
// types, the same messages.
//
// A lease is the owner <client's UUID>:<number>, a new number for each, so
// that every hold has the absolute count 1: a script whose reply is lost and
// which is sent again changes nothing. Re-entry is the policy's (see package
// lock), and never on the wire. Java reads only its own counts.
//
// It promises no more than Redis can: a failover to a replica that has not
// seen a lock, or a restart without it, frees the lock under its holder. A
// request that the network holds back until after its lease was given up may
// still take the lock, which then stays taken for one ttl.
//
// Redisson's unlock latch (redisson_unlock_latch:…) matters only to whoever
// writes it; here the lease itself knows what became of its release.
package redisson

import (
	"context"
	"crypto/rand"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/redis/go-redis/v9"
)

// A Client is one party to the locks, as a RedissonClient is one in Java. It
// needs no closing: without waiters it holds no connection and no goroutine.
type Client struct {
	rdb       redis.UniversalClient
	id        string
	seq       atomic.Int64
	hub       hub
	acquiring keyedMutex // one goroutine per semaphore waits at the server

	waitingWriters waiterCount // by lock name

	mu      sync.Mutex
	publish string // PUBLISH or SPUBLISH; empty until known
}

// PubSub is how messages travel. All parties to a lock must agree.
type PubSub int

const (
	// Auto does what Redisson does by itself: sharded in a cluster of
	// Redis 7 or later, else plain.
	Auto PubSub = iota
	Plain
	Sharded
)

// New returns a client with a UUID of its own.
func New(rdb redis.UniversalClient, mode PubSub) *Client {
	c := &Client{rdb: rdb, id: newID()}
	switch _, cluster := rdb.(*redis.ClusterClient); {
	case mode == Sharded:
		c.publish = "spublish"
	case mode == Plain || !cluster:
		c.publish = "publish"
	}
	c.hub.dialer = c
	return c
}

// newID is a UUID of version 8, where Java's are of version 4: so the fair
// lock's scripts can tell whose waiters keep their deadlines fresh.
func newID() string {
	var b [16]byte
	rand.Read(b[:])
	b[6] = b[6]&0x0f | 0x80
	b[8] = b[8]&0x3f | 0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}

// newOwner names a lease.
func (c *Client) newOwner() string {
	return fmt.Sprintf("%s:%d", c.id, c.seq.Add(1))
}

// publishCommand is the command that the scripts publish with.
func (c *Client) publishCommand(ctx context.Context) (string, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.publish != "" {
		return c.publish, nil
	}
	err := c.rdb.Do(ctx, "pubsub", "shardnumsub").Err()
	switch _, refused := err.(redis.Error); {
	case err == nil:
		c.publish = "spublish"
	case refused:
		c.publish = "publish"
	default:
		return "", fmt.Errorf("redisson: ask for sharded pub/sub: %w", err)
	}
	return c.publish, nil
}

// prefixed and suffixed are Redisson's rule for side keys and channels: the
// name becomes their hash tag, unless it brings one.
func prefixed(prefix, name string) string { return prefix + ":" + tagged(name) }
func suffixed(name, suffix string) string { return tagged(name) + ":" + suffix }

func tagged(name string) string {
	if strings.Contains(name, "{") {
		return name
	}
	return "{" + name + "}"
}
