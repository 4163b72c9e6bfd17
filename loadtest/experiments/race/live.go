package race

import (
	"slices"
	"sync"
	"time"
)

// A live is a race while it runs and afterwards. It is safe for concurrent use.
type live struct {
	mu     sync.Mutex
	race   Race
	claims [][]Claim // of each side: as each was sent, and again as it was answered
}

func newLive(r Race) *live {
	l := &live{race: r}
	for _, side := range r.Sides {
		l.claims = append(l.claims, slices.Clone(side.Claims))
	}
	return l
}

// An event is what listeners are sent.
type event struct {
	name string
	data any
}

// A listener is how much of a race somebody knows.
type listener struct {
	progress Progress
	sides    []known
}

type known struct {
	claims, sections, samples int
	result                    bool
}

// tell returns the events that a listener does not know, all if it is a new one, and
// whether they are the last.
func (l *live) tell(to *listener) (events []event, last bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if p := l.progress(); p != to.progress {
		events, to.progress = append(events, event{"state", p}), p
	}
	begins := to.sides == nil
	if begins {
		to.sides = make([]known, len(l.race.Sides))
	}
	for i, side := range l.race.Sides {
		knows := &to.sides[i]
		b := Batch{
			Side: i, Replay: begins, Claims: l.claims[i][knows.claims:],
			Sections: side.Sections[knows.sections:], Samples: side.Samples[knows.samples:],
		}
		if begins || len(b.Claims)+len(b.Sections)+len(b.Samples) > 0 {
			events = append(events, event{"batch", b})
		}
		if side.Counts != nil && !knows.result {
			events = append(events, event{"side", Result{i, side.Outcome}})
		}
		*knows = known{len(l.claims[i]), len(side.Sections), len(side.Samples), side.Counts != nil}
	}
	if last = l.race.State == Ended || l.race.State == Failed; last {
		events = append(events, event{"end", l.progress()})
	}
	return events, last
}

func (l *live) progress() Progress { return Progress{l.race.State, l.race.Phase, l.race.Error} }

// enter begins a phase of the race.
func (l *live) enter(s State, phase string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.race.State, l.race.Phase = s, phase
}

// begin sets the moment from which the times of a side count.
func (l *live) begin(side int, barrier time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.race.Sides[side].Barrier = barrier
}

// addClaim adds a claim that was sent, or replaces it when it was answered. This time and
// those of the other add methods are microseconds of the wall clock.
func (l *live) addClaim(side int, c Claim) {
	l.mu.Lock()
	defer l.mu.Unlock()
	s := &l.race.Sides[side]
	c.Sent = s.since(c.Sent)
	if c.Answered >= 0 {
		c.Answered = s.since(c.Answered)
	}
	for len(s.Claims) <= c.N {
		s.Claims = append(s.Claims, Claim{N: len(s.Claims), Answered: -1})
	}
	s.Claims[c.N] = c
	l.claims[side] = append(l.claims[side], c)
}

func (l *live) addSection(side int, x Section) {
	l.mu.Lock()
	defer l.mu.Unlock()
	s := &l.race.Sides[side]
	x.Wanted, x.Granted, x.Released = s.since(x.Wanted), s.since(x.Granted), s.since(x.Released)
	for i, step := range x.Steps {
		x.Steps[i].Begin, x.Steps[i].End = s.since(step.Begin), s.since(step.End)
	}
	s.Sections = append(s.Sections, x)
}

// addSample adds a sample with the number of claims that are in flight: those that are told
// of once.
func (l *live) addSample(side int, x Sample) {
	l.mu.Lock()
	defer l.mu.Unlock()
	s := &l.race.Sides[side]
	x.T, x.InFlight = s.since(x.T), 2*len(s.Claims)-len(l.claims[side])
	s.Samples = append(s.Samples, x)
}

// since converts microseconds of the wall clock to the time since the barrier.
func (s *Side) since(micro int64) int64 { return micro - s.Barrier.UnixMicro() }

// finish sets the result of a side.
func (l *live) finish(r Result) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.race.Sides[r.Side].Outcome = r.Outcome
}

// end ends the race, which has failed if err is not nil.
func (l *live) end(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.race.State, l.race.Phase = Ended, ""
	if err != nil {
		l.race.State, l.race.Error = Failed, err.Error()
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
