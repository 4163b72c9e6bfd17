package redisdriver

import (
	"maps"
	"time"

	"github.com/redis/go-redis/v9"
)

// A channel is a pub/sub channel with its listeners. The Subscriber's mutex
// guards it.
type channel struct {
	listeners    map[*listener]struct{}
	subscription *subscription // nil before the channel is subscribed
	confirmed    bool          // the server has confirmed the subscription
	idleSince    time.Time
}

type listener struct{ wake chan<- struct{} }

func (c *channel) notify() {
	for l := range c.listeners {
		l.notify()
	}
}

// notify sends without blocking. One pending notification is enough.
func (l *listener) notify() {
	select {
	case l.wake <- struct{}{}:
	default:
	}
}

func (c *channel) idle() bool { return len(c.listeners) == 0 && time.Since(c.idleSince) >= linger }

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

// assign assigns a channel to the subscription at node and returns that, or nil
// if it is busy.
func (s *Subscriber) assign(name string, node *redis.Client) *subscription {
	s.mu.Lock()
	defer s.mu.Unlock()
	sub := s.subscriptions[node]
	if sub == nil {
		sub = s.newSubscription(node)
		s.subscriptions[node] = sub
	}
	if sub.busy {
		return nil
	}
	s.channels[name].subscription = sub
	return sub
}

// collectIdle removes the idle channels, except those whose subscription is
// busy, and the subscriptions without channels. Without channels the goroutine
// does not run.
func (s *Subscriber) collectIdle() (idle map[*subscription][]string, unused []*subscription, running bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	idle = map[*subscription][]string{}
	used := map[*subscription]bool{}
	for name, c := range s.channels {
		sub := c.subscription
		if !c.idle() || sub != nil && sub.busy {
			used[sub] = true
			continue
		}
		if sub != nil {
			idle[sub] = append(idle[sub], name)
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

// lose records that the server no longer sends the messages of those channels of sub
// that are lost, and reports whether there are any. They are subscribed again.
func (s *Subscriber) lose(sub *subscription, isLost func(name string, c *channel) bool) (lost bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for name, c := range s.channels {
		if c.subscription == sub && isLost(name, c) {
			c.subscription, c.confirmed = nil, false
			lost = true
		}
	}
	return lost
}

// remove removes a subscription whose connection has ended, and reports whether it had
// channels.
func (s *Subscriber) remove(sub *subscription) (lost bool) {
	lost = s.lose(sub, func(string, *channel) bool { return true })
	s.mu.Lock()
	defer s.mu.Unlock()
	maps.DeleteFunc(s.subscriptions, func(_ *redis.Client, other *subscription) bool { return other == sub })
	return lost
}

// receive notifies the listeners of a channel.
func (s *Subscriber) receive(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if c := s.channels[name]; c != nil {
		c.notify()
	}
}
