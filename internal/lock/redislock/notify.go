package redislock

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

const (
	// subscribing bounds the sending of one subscription. One that fails is
	// made good when the connection comes back, by the connection itself.
	subscribing = time.Second
	// linger is how long a connection without listeners stays open, for the
	// next waiter is seldom far.
	linger = time.Second
)

// A hub is who waits for which key of a locker. A key's channel bears its
// name, and so lives in the same slot.
type hub struct {
	mu    sync.Mutex
	lines map[*redis.Client]*line // by node of the cluster; nil is the only one elsewhere
}

// A line is one pub/sub connection and those who listen on it.
type line struct {
	pubsub    *redis.PubSub
	sharded   bool
	listeners map[string]map[chan<- struct{}]int
}

// Notify implements lock.Notifier. All keys share one connection; one that has
// been interrupted wakes everybody once it is back.
func (l *Locker) Notify(key string, wake chan<- struct{}) (stop func(), err error) {
	node, err := l.node(key)
	if err != nil {
		return nil, fmt.Errorf("redislock: listen for %s: %w", key, err)
	}
	l.hub.mu.Lock()
	defer l.hub.mu.Unlock()
	on := l.hub.lines[node]
	if on == nil {
		on = l.open(node)
	}
	on.listen(key, wake)
	return sync.OnceFunc(func() { l.hub.leave(node, on, key, wake) }), nil
}

// node is the cluster's node that has key, or nil where there is no cluster.
func (l *Locker) node(key string) (*redis.Client, error) {
	cluster, ok := l.rdb.(*redis.ClusterClient)
	if !ok {
		return nil, nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), subscribing)
	defer cancel()
	return cluster.MasterForKey(ctx, key)
}

// open starts a line, which ends when leave closes it or the client is closed.
func (l *Locker) open(node *redis.Client) *line {
	on := &line{sharded: node != nil, listeners: map[string]map[chan<- struct{}]int{}}
	if on.sharded {
		on.pubsub = node.SSubscribe(context.Background())
	} else {
		on.pubsub = l.rdb.Subscribe(context.Background())
	}
	if l.hub.lines == nil {
		l.hub.lines = map[*redis.Client]*line{}
	}
	l.hub.lines[node] = on
	go l.hub.dispatch(on)
	return on
}

// dispatch turns messages, and confirmed subscriptions, into wake-ups.
func (h *hub) dispatch(on *line) {
	for event := range on.pubsub.ChannelWithSubscriptions() {
		switch event := event.(type) {
		case *redis.Message:
			h.wake(on, event.Channel)
		case *redis.Subscription:
			h.wake(on, event.Channel)
		}
	}
}

func (h *hub) wake(on *line, key string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for wake := range on.listeners[key] {
		nudge(wake)
	}
}

func (h *hub) leave(node *redis.Client, on *line, key string, wake chan<- struct{}) {
	h.mu.Lock()
	defer h.mu.Unlock()
	on.leave(key, wake)
	if len(on.listeners) == 0 {
		time.AfterFunc(linger, func() { h.close(node, on) })
	}
}

// close ends a line, unless somebody listens again.
func (h *hub) close(node *redis.Client, on *line) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(on.listeners) == 0 && h.lines[node] == on {
		delete(h.lines, node)
		_ = on.pubsub.Close()
	}
}

func (on *line) listen(key string, wake chan<- struct{}) {
	if on.listeners[key] != nil {
		on.listeners[key][wake]++
		nudge(wake)
		return
	}
	on.listeners[key] = map[chan<- struct{}]int{wake: 1}
	ctx, cancel := context.WithTimeout(context.Background(), subscribing)
	defer cancel()
	if on.sharded {
		_ = on.pubsub.SSubscribe(ctx, key)
	} else {
		_ = on.pubsub.Subscribe(ctx, key)
	}
}

func (on *line) leave(key string, wake chan<- struct{}) {
	listeners := on.listeners[key]
	if listeners[wake]--; listeners[wake] == 0 {
		delete(listeners, wake)
	}
	if len(listeners) > 0 {
		return
	}
	delete(on.listeners, key)
	ctx, cancel := context.WithTimeout(context.Background(), subscribing)
	defer cancel()
	if on.sharded {
		_ = on.pubsub.SUnsubscribe(ctx, key)
	} else {
		_ = on.pubsub.Unsubscribe(ctx, key)
	}
}

// nudge leaves a wake-up that one receiver will find, without ever blocking.
func nudge(wake chan<- struct{}) {
	select {
	case wake <- struct{}{}:
	default:
	}
}
