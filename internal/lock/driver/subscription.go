package driver

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

var errNotSharded = errors.New("this client has no sharded pub/sub")

// node returns the node that sends the channel's messages, or nil if messages
// are not sharded.
func (s *Subscriber) node(ctx context.Context, channel string) (*redis.Client, error) {
	sharded, err := s.sharded(ctx)
	if err != nil || !sharded {
		return nil, err
	}
	switch rdb := s.rdb.(type) {
	case *redis.ClusterClient:
		return rdb.MasterForKey(ctx, channel)
	case *redis.Client:
		return rdb, nil
	}
	return nil, errNotSharded
}

// A subscription is one pub/sub connection. The first error ends it; the
// Subscriber then looks up the nodes of its channels again. The same repair
// serves a broken connection, a failover and a moved slot.
type subscription struct {
	subscriber         *Subscriber
	pubsub             *redis.PubSub
	subscribeTo, leave func(ctx context.Context, channels ...string) error
	reading            sync.Once
}

func (s *Subscriber) newSubscription(node *redis.Client) *subscription {
	if node == nil {
		ps := s.rdb.Subscribe(context.Background())
		return &subscription{subscriber: s, pubsub: ps, subscribeTo: ps.Subscribe, leave: ps.Unsubscribe}
	}
	ps := node.SSubscribe(context.Background())
	return &subscription{subscriber: s, pubsub: ps, subscribeTo: ps.SSubscribe, leave: ps.SUnsubscribe}
}

func (s *subscription) subscribe(ctx context.Context, channels []string) {
	if err := s.subscribeTo(ctx, channels...); err != nil {
		s.end()
		return
	}
	s.reading.Do(func() { go s.read() })
}

func (s *subscription) unsubscribe(channels []string) {
	ctx, cancel := context.WithTimeout(context.Background(), subscribeTimeout)
	defer cancel()
	if err := s.leave(ctx, channels...); err != nil {
		s.end()
	}
}

// read passes messages on until the connection fails or is silent for two
// intervals.
func (s *subscription) read() {
	defer s.end()
	for pinged := false; ; {
		message, err := s.pubsub.ReceiveTimeout(context.Background(), pingInterval)
		switch {
		case isTimeout(err) && !pinged:
			if s.pubsub.Ping(context.Background()) != nil {
				return
			}
			pinged = true
		case err != nil:
			return
		default:
			pinged = false
			s.handle(message)
		}
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
		case "sunsubscribe": // also when the slot moves to another node
			s.subscriber.lose(s, m.Channel)
		}
	}
}

func (s *subscription) end() {
	s.subscriber.loseAll(s)
	s.close()
}

func (s *subscription) close() { _ = s.pubsub.Close() }

func isTimeout(err error) bool {
	netErr, ok := errors.AsType[net.Error](err)
	return ok && netErr.Timeout()
}
