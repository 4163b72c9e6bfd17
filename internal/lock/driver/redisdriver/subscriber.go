package redisdriver

import (
	"context"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

const (
	// linger is how long a channel without listeners stays subscribed, because
	// another waiter often follows.
	linger = time.Second
	// repairInterval is how often lost subscriptions are tried again.
	repairInterval = 500 * time.Millisecond
	// commandTimeout bounds the commands of one round to one node.
	commandTimeout = 2 * time.Second
)

// A Subscriber notifies the listeners of Redis pub/sub channels. All channels
// share one connection, in a cluster, where messages are sharded, one to each node. One
// goroutine, which runs while there are channels, keeps the subscriptions in
// line with the listeners: it repairs broken connections and follows slots that
// move. The commands to each node have a goroutine of their own, so that a node
// that hangs delays no other. Neither Listen nor its stop function waits for the
// network.
//
// The zero value is not usable; a Subscriber needs no closing.
type Subscriber struct {
	rdb redis.UniversalClient

	mu            sync.Mutex
	channels      map[string]*channel
	subscriptions map[*redis.Client]*subscription // by node; the key nil is for messages that are not sharded
	changed       chan struct{}                   // nil while the goroutine does not run
}

// NewSubscriber returns a subscriber of rdb to what is published by PublishCommand.
func NewSubscriber(rdb redis.UniversalClient) *Subscriber { return &Subscriber{rdb: rdb} }

// PublishCommand returns the command that publishes a message where rdb's subscribers are:
// in a cluster, on the channel's own node.
func PublishCommand(rdb redis.UniversalClient) string {
	if _, cluster := rdb.(*redis.ClusterClient); cluster {
		return "spublish"
	}
	return "publish"
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

// add adds a channel and starts the goroutine, or notifies it.
func (s *Subscriber) add(name string, c *channel) {
	if s.changed == nil {
		s.changed = make(chan struct{}, 1)
		s.channels = map[string]*channel{}
		s.subscriptions = map[*redis.Client]*subscription{}
		go s.run(s.changed)
	}
	s.channels[name] = c
	s.notifyRun()
}

// notifyRun starts a round before the next tick.
func (s *Subscriber) notifyRun() {
	select {
	case s.changed <- struct{}{}:
	default: // a round is already due, or the goroutine does not run
	}
}

func (s *Subscriber) run(changed <-chan struct{}) {
	tick := time.NewTicker(repairInterval)
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
	ctx, cancel := context.WithTimeout(context.Background(), commandTimeout)
	defer cancel()
	names := map[*subscription][]string{}
	for _, name := range s.unsubscribed() {
		node, err := s.node(ctx, name)
		if err != nil {
			continue
		}
		if sub := s.assign(name, node); sub != nil {
			names[sub] = append(names[sub], name)
		}
	}
	for sub, names := range names {
		s.start(sub, func(ctx context.Context) error { return sub.subscribe(ctx, names) })
	}
}

// unsubscribeIdle drops the channels that had no listener for a while and the
// connections without channels. It returns false if no channel is left; the
// goroutine then ends.
func (s *Subscriber) unsubscribeIdle() bool {
	idle, unused, running := s.collectIdle()
	for sub, names := range idle {
		s.start(sub, func(ctx context.Context) error { return sub.unsubscribe(ctx, names) })
	}
	for _, sub := range unused {
		go sub.close() // may have to wait for a connection attempt
	}
	return running
}

// start calls send, which sends commands to sub, in a goroutine. Until it has
// returned, sub is busy and no other commands are sent to it.
func (s *Subscriber) start(sub *subscription, send func(context.Context) error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	sub.busy = true
	go func() {
		ctx, cancel := context.WithTimeout(context.Background(), commandTimeout)
		defer cancel()
		err := send(ctx)
		s.done(sub, err)
	}()
}

// done ends a subscription whose commands failed. Otherwise the channels that came
// meanwhile are subscribed before the next tick.
func (s *Subscriber) done(sub *subscription, err error) {
	if err != nil {
		sub.end()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	sub.busy = false
	if err == nil {
		s.notifyRun()
	}
}
