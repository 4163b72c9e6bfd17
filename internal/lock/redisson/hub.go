package redisson

import (
	"context"
	"maps"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

const (
	// linger is how long a channel without a listener stays subscribed, for
	// the next waiter is seldom far; and how often what is wrong is mended.
	linger = time.Second
	// subscribing bounds one (un)subscription.
	subscribing = 2 * time.Second
)

// A hub wakes the listeners of channels. One goroutine, which lives while
// there are topics, brings the subscriptions in line with them; so listening
// never waits for the network.
type hub struct {
	dialer

	mu     sync.Mutex
	topics map[string]*topic
	lines  map[*redis.Client]*line // by shard
	kick   chan struct{}           // nil: the goroutine is not running
}

// A topic is a channel with its listeners.
type topic struct {
	listeners map[*listener]struct{}
	line      *line // nil: not yet subscribed
	heard     bool  // the server has confirmed the subscription
	idle      time.Time
}

type listener struct{ wake chan<- struct{} }

func (l *listener) notify() {
	select {
	case l.wake <- struct{}{}:
	default:
	}
}

// listen wakes at every message, when it begins to hear, and again after every
// interruption, until stop is called.
func (h *hub) listen(channel string, wake chan<- struct{}) (stop func()) {
	l := &listener{wake}
	h.mu.Lock()
	defer h.mu.Unlock()
	t := h.topics[channel]
	if t == nil {
		t = &topic{listeners: make(map[*listener]struct{})}
		h.add(channel, t)
	}
	t.listeners[l] = struct{}{}
	if t.heard {
		l.notify()
	}
	return func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		delete(t.listeners, l)
		t.idle = time.Now()
	}
}

// add also starts the goroutine, or tells it.
func (h *hub) add(channel string, t *topic) {
	if h.kick == nil {
		h.kick = make(chan struct{}, 1)
		h.topics = make(map[string]*topic)
		h.lines = make(map[*redis.Client]*line)
		go h.run(h.kick)
	}
	h.topics[channel] = t
	select {
	case h.kick <- struct{}{}:
	default:
	}
}

func (h *hub) run(kick <-chan struct{}) {
	tick := time.NewTicker(linger)
	defer tick.Stop()
	for h.forget() {
		h.subscribe()
		select {
		case <-kick:
		case <-tick.C:
		}
	}
}

// subscribe finds a line for every topic that has none. What fails is tried
// again at the next tick.
func (h *hub) subscribe() {
	ctx, cancel := context.WithTimeout(context.Background(), subscribing)
	defer cancel()
	wanted := make(map[*line][]string)
	for _, channel := range h.unheard() {
		if shard, err := h.shard(ctx, channel); err == nil {
			l := h.place(channel, shard)
			wanted[l] = append(wanted[l], channel)
		}
	}
	for l, channels := range wanted {
		l.subscribe(ctx, channels)
	}
}

// unheard are the channels without a line.
func (h *hub) unheard() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	var channels []string
	for channel, t := range h.topics {
		if t.line == nil {
			channels = append(channels, channel)
		}
	}
	return channels
}

// place gives channel the line to shard.
func (h *hub) place(channel string, shard *redis.Client) *line {
	h.mu.Lock()
	defer h.mu.Unlock()
	l := h.lines[shard]
	if l == nil {
		l = h.dial(h, shard)
		h.lines[shard] = l
	}
	h.topics[channel].line = l
	return l
}

// forget drops topics that nobody has listened to for a while, and lines
// without topics. It reports whether any topic is left; if not, run ends.
func (h *hub) forget() bool {
	idle, unused, more := h.sweep()
	for l, channels := range idle {
		l.unsubscribe(channels)
	}
	for _, l := range unused {
		l.close()
	}
	return more
}

func (h *hub) sweep() (idle map[*line][]string, unused []*line, more bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	idle = make(map[*line][]string)
	used := make(map[*line]bool)
	for channel, t := range h.topics {
		switch {
		case len(t.listeners) > 0 || time.Since(t.idle) < linger:
			used[t.line] = true
			continue
		case t.line != nil:
			idle[t.line] = append(idle[t.line], channel)
		}
		delete(h.topics, channel)
	}
	for shard, l := range h.lines {
		if !used[l] {
			unused = append(unused, l)
			delete(h.lines, shard)
			delete(idle, l)
		}
	}
	if len(h.topics) == 0 {
		h.kick = nil
	}
	return idle, unused, h.kick != nil
}

// confirmed notes that the server now sends what is published on channel.
func (h *hub) confirmed(l *line, channel string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if t := h.topics[channel]; t != nil && t.line == l {
		t.heard = true
		t.wake()
	}
}

// lost notes that channel, or every channel of l if none is given, is no
// longer heard there. The next tick subscribes anew.
func (h *hub) lost(l *line, channel string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for name, t := range h.topics {
		if t.line == l && (channel == "" || channel == name) {
			t.line, t.heard = nil, false
		}
	}
	if channel == "" {
		maps.DeleteFunc(h.lines, func(_ *redis.Client, known *line) bool { return known == l })
	}
}

// message wakes those who listen to channel.
func (h *hub) message(channel string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if t := h.topics[channel]; t != nil {
		t.wake()
	}
}

func (t *topic) wake() {
	for l := range t.listeners {
		l.notify()
	}
}
