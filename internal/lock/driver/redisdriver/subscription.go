package redisdriver

import (
	"context"
	"errors"
	"net"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

// pingInterval is how long a connection may be silent before it is pinged. It is
// closed after a second interval without a reply.
const pingInterval = 3 * time.Second

// node returns the node that sends the channel's messages, or nil if messages
// are not sharded.
func (s *Subscriber) node(ctx context.Context, channel string) (*redis.Client, error) {
	if cluster, ok := s.rdb.(*redis.ClusterClient); ok {
		return cluster.MasterForKey(ctx, channel)
	}
	return nil, nil
}

// reload makes the client of a cluster look up in the background which node has
// which slot.
func (s *Subscriber) reload() {
	if cluster, ok := s.rdb.(*redis.ClusterClient); ok {
		cluster.ReloadState(context.Background())
	}
}

// A subscription is one pub/sub connection. A broken connection ends it; the
// Subscriber then looks up the nodes of its channels again. The same repair
// serves a broken connection, a failover and a moved slot.
type subscription struct {
	subscriber         *Subscriber
	pubsub             *redis.PubSub
	sharded            bool
	subscribeTo, leave func(ctx context.Context, channels ...string) error
	reading            sync.Once

	busy bool // commands are being sent; guarded by the Subscriber's mutex
}

func (s *Subscriber) newSubscription(node *redis.Client) *subscription {
	if node == nil {
		ps := s.rdb.Subscribe(context.Background())
		return &subscription{subscriber: s, pubsub: ps, subscribeTo: ps.Subscribe, leave: ps.Unsubscribe}
	}
	ps := node.SSubscribe(context.Background())
	return &subscription{subscriber: s, pubsub: ps, sharded: true, subscribeTo: ps.SSubscribe, leave: ps.SUnsubscribe}
}

func (s *subscription) subscribe(ctx context.Context, channels []string) error {
	err := s.send(ctx, s.subscribeTo, channels)
	if err == nil {
		s.reading.Do(func() { go s.read() })
	}
	return err
}

func (s *subscription) unsubscribe(ctx context.Context, channels []string) error {
	return s.send(ctx, s.leave, channels)
}

// send sends one command for channels, or one for those of each slot: a command
// for sharded channels must not leave its slot.
func (s *subscription) send(
	ctx context.Context, command func(context.Context, ...string) error, channels []string,
) error {
	commands := map[int][]string{0: channels}
	if s.sharded {
		commands = bySlot(channels)
	}
	for _, channels := range commands {
		if err := command(ctx, channels...); err != nil {
			return err
		}
	}
	return nil
}

// read receives messages until the connection fails or is silent for two
// intervals. An error reply counts as a failure, except MOVED: that refuses new
// channels and leaves the others subscribed.
func (s *subscription) read() {
	defer s.end()
	for pinged := false; ; {
		message, err := s.pubsub.ReceiveTimeout(context.Background(), pingInterval)
		switch {
		case err == nil:
			s.handle(message)
		case redis.HasErrorPrefix(err, "MOVED"):
			// It does not say which channel, and the unconfirmed ones may be subscribed twice.
			s.subscriber.lose(s, func(_ string, c *channel) bool { return !c.confirmed })
			s.subscriber.reload()
		case !isTimeout(err) || pinged || s.pubsub.Ping(context.Background()) != nil:
			return
		}
		pinged = isTimeout(err)
	}
}

func (s *subscription) handle(message any) {
	switch m := message.(type) {
	case *redis.Message:
		s.subscriber.receive(m.Channel)
	case *redis.Subscription:
		switch m.Kind {
		case "subscribe", "ssubscribe":
			s.subscriber.confirm(s, m.Channel)
		case "sunsubscribe": // by unsubscribe, or because the slot moves to another node
			// A channel that is not confirmed is being subscribed again.
			moved := func(name string, c *channel) bool { return name == m.Channel && c.confirmed }
			if s.subscriber.lose(s, moved) {
				s.subscriber.reload()
			}
		}
	}
}

func (s *subscription) end() {
	if s.subscriber.remove(s) {
		s.subscriber.reload()
	}
	s.close()
}

func (s *subscription) close() { _ = s.pubsub.Close() }

func isTimeout(err error) bool {
	netErr, ok := errors.AsType[net.Error](err)
	return ok && netErr.Timeout()
}
