package driver

import (
	"context"
	"maps"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

const (
	// linger is how long a channel without listeners stays subscribed, because
	// another waiter often follows. It is also the interval of the repairs.
	linger = time.Second
	// subscribeTimeout bounds one round of subscriptions.
	subscribeTimeout = 2 * time.Second
)

// A Subscriber notifies the listeners of Redis pub/sub channels. All channels
// share one connection, in a cluster with sharded messages one to each node. One
// goroutine, which runs while there are channels, keeps the subscriptions in
// line with the listeners: it repairs broken connections and follows slots that
// move. Neither Listen nor its stop function waits for the network.
//
// The zero value is not usable; a Subscriber needs no closing.
type Subscriber struct {
	rdb     redis.UniversalClient
	sharded func(context.Context) (bool, error)

	mu            sync.Mutex
	channels      map[string]*channel
	subscriptions map[*redis.Client]*subscription // by node; the key nil is for messages that are not sharded
	changed       chan struct{}                   // nil while the goroutine does not run
}

// A channel is a pub/sub channel with its listeners.
type channel struct {
	listeners    map[*listener]struct{}
	subscription *subscription // nil before the channel is subscribed
	confirmed    bool          // the server has confirmed the subscription
	idleSince    time.Time
}

type listener struct{ wake chan<- struct{} }

// NewSubscriber returns a subscriber of rdb. Sharded reports whether messages
// are published by SPUBLISH; it may ask the server.
func NewSubscriber(rdb redis.UniversalClient, sharded func(context.Context) (bool, error)) *Subscriber {
	return &Subscriber{rdb: rdb, sharded: sharded}
}

// Listen sends on wake at every message of the channel called name, once when
// the server has confirmed the subscription, and again after each interruption,
// until stop is called. It never blocks on wake.
func (s *Subscriber) Listen(name string, wake chan<- struct{}) (stop func()) {
	l := &listener{wake}
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.channels[name]
	if c == nil {
		c = &channel{listeners: map[*listener]struct{}{}}
		s.add(name, c)
	}
	c.listeners[l] = struct{}{}
	if c.confirmed {
		l.notify()
	}
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(c.listeners, l)
		c.idleSince = time.Now()
	}
}

// notify sends without blocking. One pending notification is enough.
func (l *listener) notify() {
	select {
	case l.wake <- struct{}{}:
	default:
	}
}

// add adds a channel and starts the goroutine, or notifies it.
func (s *Subscriber) add(name string, c *channel) {
	if s.changed == nil {
		s.changed = make(chan struct{}, 1)
		s.channels = map[string]*channel{}
		s.subscriptions = map[*redis.Client]*subscription{}
		go s.run(s.changed)
	}
	s.channels[name] = c
	select {
	case s.changed <- struct{}{}:
	default:
	}
}

func (s *Subscriber) run(changed <-chan struct{}) {
	tick := time.NewTicker(linger)
	defer tick.Stop()
	for s.unsubscribeIdle() {
		s.subscribe()
		select {
		case <-changed:
		case <-tick.C:
		}
	}
}

// subscribe subscribes every channel that is not. A channel that fails is tried
// again at the next tick.
func (s *Subscriber) subscribe() {
	ctx, cancel := context.WithTimeout(context.Background(), subscribeTimeout)
	defer cancel()
	names := map[*subscription][]string{}
	for _, name := range s.unsubscribed() {
		if node, err := s.node(ctx, name); err == nil {
			sub := s.assign(name, node)
			names[sub] = append(names[sub], name)
		}
	}
	for sub, names := range names {
		sub.subscribe(ctx, names)
	}
}

func (s *Subscriber) unsubscribed() (names []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for name, c := range s.channels {
		if c.subscription == nil {
			names = append(names, name)
		}
	}
	return names
}

// assign assigns a channel to the subscription at node.
func (s *Subscriber) assign(name string, node *redis.Client) *subscription {
	s.mu.Lock()
	defer s.mu.Unlock()
	sub := s.subscriptions[node]
	if sub == nil {
		sub = s.newSubscription(node)
		s.subscriptions[node] = sub
	}
	s.channels[name].subscription = sub
	return sub
}

// unsubscribeIdle drops the channels that had no listener for a while and the
// connections without channels. It returns false if no channel is left; the
// goroutine then ends.
func (s *Subscriber) unsubscribeIdle() bool {
	idle, unused, running := s.collectIdle()
	for sub, names := range idle {
		sub.unsubscribe(names)
	}
	for _, sub := range unused {
		sub.close()
	}
	return running
}

func (s *Subscriber) collectIdle() (idle map[*subscription][]string, unused []*subscription, running bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	idle = map[*subscription][]string{}
	used := map[*subscription]bool{}
	for name, c := range s.channels {
		if len(c.listeners) > 0 || time.Since(c.idleSince) < linger {
			used[c.subscription] = true
			continue
		}
		if c.subscription != nil {
			idle[c.subscription] = append(idle[c.subscription], name)
		}
		delete(s.channels, name)
	}
	for node, sub := range s.subscriptions {
		if !used[sub] {
			unused = append(unused, sub)
			delete(s.subscriptions, node)
			delete(idle, sub)
		}
	}
	if len(s.channels) == 0 {
		s.changed = nil
	}
	return idle, unused, s.changed != nil
}

// confirm records that the server now sends the channel's messages.
func (s *Subscriber) confirm(sub *subscription, name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if c := s.channels[name]; c != nil && c.subscription == sub {
		c.confirmed = true
		c.notify()
	}
}

// lose records that a channel is no longer subscribed. The next tick subscribes
// it again.
func (s *Subscriber) lose(sub *subscription, name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if c := s.channels[name]; c != nil && c.subscription == sub {
		c.subscription, c.confirmed = nil, false
	}
}

// loseAll records that a connection has ended.
func (s *Subscriber) loseAll(sub *subscription) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.channels {
		if c.subscription == sub {
			c.subscription, c.confirmed = nil, false
		}
	}
	maps.DeleteFunc(s.subscriptions, func(_ *redis.Client, other *subscription) bool { return other == sub })
}

// receive notifies the listeners of a channel.
func (s *Subscriber) receive(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if c := s.channels[name]; c != nil {
		c.notify()
	}
}

func (c *channel) notify() {
	for l := range c.listeners {
		l.notify()
	}
}
