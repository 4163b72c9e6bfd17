package race

import (
	"slices"
	"sync"
)

// A live is a race and those who listen to it. It is safe for concurrent use.
type live struct {
	mu        sync.Mutex
	race      Race
	listeners map[chan event]bool
}

// An event is what listeners are sent.
type event struct {
	name string
	data any
}

// listenerBuffer is how many events a listener may be late before it is cut off.
const listenerBuffer = 256

func newLive(r Race) *live { return &live{race: r, listeners: map[chan event]bool{}} }

// listen returns the events that replay the race so far, and a channel of those
// that follow, which is closed after the event end, or when the listener is too
// slow. The listener must call stop.
func (l *live) listen() (replay []event, next <-chan event, stop func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	c := make(chan event, listenerBuffer)
	if l.ended() {
		close(c)
	} else {
		l.listeners[c] = true
	}
	return l.replay(), c, func() { l.forget(c) }
}

func (l *live) ended() bool { return l.race.State == Ended || l.race.State == Failed }

func (l *live) replay() []event {
	events := []event{{"state", l.progress()}}
	for i, side := range l.race.Sides {
		events = append(events, event{"batch", Batch{
			Side: i, Replay: true, Claims: slices.Clone(side.Claims), Sections: side.Sections, Samples: side.Samples,
		}})
		if side.Counts != nil {
			events = append(events, event{"side", Result{i, side.Outcome}})
		}
	}
	if l.ended() {
		events = append(events, event{"end", l.progress()})
	}
	return events
}

func (l *live) progress() Progress { return Progress{l.race.State, l.race.Phase, l.race.Error} }

func (l *live) forget(c chan event) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.listeners, c)
}

// publish sends an event to all listeners. A listener that is too slow is cut
// off; it may listen again.
func (l *live) publish(e event) {
	for c := range l.listeners {
		select {
		case c <- e:
		default:
			delete(l.listeners, c)
			close(c)
		}
	}
}

// enter publishes that the race is in the phase.
func (l *live) enter(s State, phase string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.race.State, l.race.Phase = s, phase
	l.publish(event{"state", l.progress()})
}

// add adds what is new on a side and publishes it.
func (l *live) add(b Batch) {
	l.mu.Lock()
	defer l.mu.Unlock()
	side := &l.race.Sides[b.Side]
	for _, c := range b.Claims {
		for len(side.Claims) <= c.N {
			side.Claims = append(side.Claims, Claim{N: len(side.Claims), Answered: -1})
		}
		side.Claims[c.N] = c
	}
	side.Sections = append(side.Sections, b.Sections...)
	side.Samples = append(side.Samples, b.Samples...)
	l.publish(event{"batch", b})
}

// finish sets the result of a side and publishes it.
func (l *live) finish(r Result) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.race.Sides[r.Side].Outcome = r.Outcome
	l.publish(event{"side", r})
}

// end ends the race, which has failed if err is not nil, and its events.
func (l *live) end(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.race.State, l.race.Phase = Ended, ""
	if err != nil {
		l.race.State, l.race.Error = Failed, err.Error()
	}
	l.publish(event{"end", l.progress()})
	for c := range l.listeners {
		delete(l.listeners, c)
		close(c)
	}
}

// snapshot returns a copy of the race as it is now.
func (l *live) snapshot() Race {
	l.mu.Lock()
	defer l.mu.Unlock()
	r := l.race
	r.Sides = slices.Clone(r.Sides)
	for i := range r.Sides {
		r.Sides[i].Claims = slices.Clone(r.Sides[i].Claims) // the others are only appended to
	}
	return r
}

// summary returns the race without its data: of each side its settings and what came out.
func (l *live) summary() Race {
	l.mu.Lock()
	defer l.mu.Unlock()
	r := l.race
	r.Sides = nil
	for _, s := range l.race.Sides {
		r.Sides = append(r.Sides, Side{Settings: s.Settings, Outcome: Outcome{Counts: s.Counts, Promises: s.Promises}})
	}
	return r
}
