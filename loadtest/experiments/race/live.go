package race

import (
	"slices"
	"sync"
	"time"
)

// A live is a race while it runs and afterwards. It is safe for concurrent use.
type live struct {
	mu       sync.Mutex
	race     Race
	events   []Event
	inFlight []int // claims of each side
}

func newLive(r Race) *live { return &live{race: r, inFlight: make([]int, len(r.Sides))} }

// since returns the events after the first n, and whether they are the last.
func (l *live) since(n int) (events []Event, last bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.events[min(n, len(l.events)):], l.race.State == Ended || l.race.State == Failed
}

// tell adds an event. The caller has locked l.
func (l *live) tell(name string, side int, data any) {
	l.events = append(l.events, Event{name, side, data})
}

func (l *live) progress() Progress { return Progress{l.race.State, l.race.Phase, l.race.Error} }

// enter begins a phase of the race.
func (l *live) enter(s State, phase string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.race.State, l.race.Phase = s, phase
	l.tell("state", 0, l.progress())
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
	if c.Answered < 0 {
		l.inFlight[side]++
	} else {
		c.Answered = s.since(c.Answered)
		l.inFlight[side]--
	}
	for len(s.Claims) <= c.N {
		s.Claims = append(s.Claims, Claim{N: len(s.Claims), Answered: -1})
	}
	s.Claims[c.N] = c
	l.tell("claim", side, c)
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
	l.tell("section", side, x)
}

// addSample adds a sample with the number of claims that are in flight.
func (l *live) addSample(side int, x Sample) {
	l.mu.Lock()
	defer l.mu.Unlock()
	s := &l.race.Sides[side]
	x.T, x.InFlight = s.since(x.T), l.inFlight[side]
	s.Samples = append(s.Samples, x)
	l.tell("sample", side, x)
}

// since converts microseconds of the wall clock to the time since the barrier.
func (s *Side) since(micro int64) int64 { return micro - s.Barrier.UnixMicro() }

// finish sets the outcome of a side.
func (l *live) finish(side int, o Outcome) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.race.Sides[side].Outcome = o
	l.tell("side", side, o)
}

// end ends the race, which has failed if err is not nil.
func (l *live) end(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.race.State, l.race.Phase = Ended, ""
	if err != nil {
		l.race.State, l.race.Error = Failed, err.Error()
	}
	l.tell("end", 0, l.progress())
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
