package race

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"example.com/flashsale/loadtest/rig"
)

// A session is the stack of servers and the races that ran on it.
type session struct {
	ctx         context.Context // ends the races
	stack       *rig.Stack
	environment rig.Environment
	kept        archive

	mu      sync.Mutex
	races   []*live // oldest first
	busy    bool
	running sync.WaitGroup
}

// errBusy says that another race is running.
var errBusy = errors.New("another race is running")

// newSession returns a session that knows the races of earlier ones, and keeps its
// own with them.
func newSession(ctx context.Context, stack *rig.Stack, kept archive) (*session, error) {
	e, err := stack.Environment(ctx)
	if err != nil {
		return nil, err
	}
	delete(e.Versions, "k6") // the race does not use it
	return &session{ctx: ctx, stack: stack, environment: e, kept: kept, races: kept.read()}, nil
}

// start starts a race in the background. The request must be valid.
func (s *session) start(r Request) (*live, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.busy {
		return nil, errBusy
	}
	now := time.Now().UTC()
	race := Race{
		Version: Version, ID: newID(now), Started: now, State: Starting,
		Environment: s.environment, Workload: r.Workload,
	}
	for _, settings := range r.Sides {
		race.Sides = append(race.Sides, newSide(settings))
	}
	l := newLive(race)
	s.races = append(s.races, l)
	s.races = s.races[max(0, len(s.races)-maxRaces):]
	s.busy = true
	s.running.Go(func() {
		services, err := s.run(s.ctx, l)
		s.release() // before listeners are told of the end: they may start the next race
		l.end(err)
		stopAll(services)
		if err == nil {
			err = s.kept.keep(l.snapshot())
		}
		if err != nil {
			fmt.Println("the race is not kept:", err)
		}
	})
	return l, nil
}

func (s *session) release() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.busy = false
}

// newID returns an id that no other race has, whichever session ran it. Ids sort
// by time.
func newID(started time.Time) string {
	return started.Format("20060102-150405-") + strings.ToLower(rand.Text()[:4])
}

func newSide(s Settings) Side {
	return Side{Settings: s, Claims: []Claim{}, Sections: []Section{}, Samples: []Sample{}}
}

// find returns the race id, or nil.
func (s *session) find(id string) *live {
	s.mu.Lock()
	defer s.mu.Unlock()
	i := slices.IndexFunc(s.races, func(l *live) bool { return l.race.ID == id })
	if i < 0 {
		return nil
	}
	return s.races[i]
}

// summaries returns the session's races without their data, newest first.
func (s *session) summaries() []Race {
	s.mu.Lock()
	races := slices.Clone(s.races)
	s.mu.Unlock()
	list := []Race{}
	for _, l := range slices.Backward(races) {
		list = append(list, l.summary())
	}
	return list
}
