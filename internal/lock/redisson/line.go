package redisson

import (
	"context"
	"errors"
	"net"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

// pulse is how often a silent line is asked whether it is alive. Two pulses
// without an answer are its end.
const pulse = 3 * time.Second

// A dialer knows where messages come from.
type dialer interface {
	// shard is the node that owns channel; nil where messages are not sharded.
	shard(ctx context.Context, channel string) (*redis.Client, error)
	dial(h *hub, shard *redis.Client) *line
}

func (c *Client) shard(ctx context.Context, channel string) (*redis.Client, error) {
	publish, err := c.publishCommand(ctx)
	if err != nil || publish == "publish" {
		return nil, err
	}
	if cluster, ok := c.rdb.(*redis.ClusterClient); ok {
		return cluster.MasterForKey(ctx, channel)
	}
	if single, ok := c.rdb.(*redis.Client); ok {
		return single, nil
	}
	return nil, errors.New("redisson: this client has no sharded pub/sub")
}

func (c *Client) dial(h *hub, shard *redis.Client) *line {
	if shard == nil {
		ps := c.rdb.Subscribe(context.Background())
		return &line{hub: h, pubsub: ps, on: ps.Subscribe, off: ps.Unsubscribe}
	}
	ps := shard.SSubscribe(context.Background())
	return &line{hub: h, pubsub: ps, on: ps.SSubscribe, off: ps.SUnsubscribe}
}

// A line is one pub/sub connection. The first error ends it: the hub then
// looks for the channels' shards anew, which is the same work after a broken
// connection, a failover and a moved slot.
type line struct {
	hub     *hub
	pubsub  *redis.PubSub
	on, off func(ctx context.Context, channels ...string) error
	reading sync.Once
}

func (l *line) subscribe(ctx context.Context, channels []string) {
	if err := l.on(ctx, channels...); err != nil {
		l.end()
		return
	}
	l.reading.Do(func() { go l.read() })
}

func (l *line) unsubscribe(channels []string) {
	ctx, cancel := context.WithTimeout(context.Background(), subscribing)
	defer cancel()
	if err := l.off(ctx, channels...); err != nil {
		l.end()
	}
}

func (l *line) read() {
	defer l.end()
	for silent := false; ; {
		message, err := l.pubsub.ReceiveTimeout(context.Background(), pulse)
		switch timeout := timedOut(err); {
		case timeout && !silent:
			if l.pubsub.Ping(context.Background()) != nil {
				return
			}
			silent = true
		case err != nil:
			return
		default:
			silent = false
			l.hear(message)
		}
	}
}

func (l *line) hear(message any) {
	switch m := message.(type) {
	case *redis.Message:
		l.hub.message(m.Channel)
	case *redis.Subscription:
		switch m.Kind {
		case "subscribe", "ssubscribe":
			l.hub.confirmed(l, m.Channel)
		case "sunsubscribe": // also when the slot moves away
			l.hub.lost(l, m.Channel)
		}
	}
}

func (l *line) end() {
	l.hub.lost(l, "")
	l.close()
}

func (l *line) close() { _ = l.pubsub.Close() }

func timedOut(err error) bool {
	n, ok := errors.AsType[net.Error](err)
	return ok && n.Timeout()
}
