package race

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"sync"
	"time"

	"example.com/flashsale/loadtest/rig"
)

// A session is the stack of servers and the races that ran on it.
type session struct {
	ctx         context.Context // ends the races
	stack       *rig.Stack
	environment rig.Environment
	servers     *servers
	sources     map[function]*Source

	mu      sync.Mutex
	races   []*live // oldest first
	started int
	busy    bool
	running sync.WaitGroup
}

// maxRaces bounds the races that a session remembers. A race of 20,000 claims
// takes some 10 MB.
const maxRaces = 50

// errBusy says that another race is running.
var errBusy = errors.New("another race is running")

func newSession(ctx context.Context, stack *rig.Stack) (*session, error) {
	e, err := stack.Environment(ctx)
	if err != nil {
		return nil, err
	}
	delete(e.Versions, "k6") // the race does not use it
	sources, err := readSources(".")
	return &session{ctx: ctx, stack: stack, environment: e, servers: newServers(stack), sources: sources}, err
}

// start starts a race in the background. The request must be valid.
func (s *session) start(r Request) (*live, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.busy {
		return nil, errBusy
	}
	s.busy = true
	s.started++
	l := newLive(Race{
		Version: Version, ID: strconv.Itoa(s.started), Started: time.Now().UTC(), State: Starting,
		Schedule: "sequential", Clock: "wall", Environment: s.environment, Workload: r.Workload,
		Sides: [2]Side{newSide(r.Sides[0]), newSide(r.Sides[1])},
	})
	s.races = append(s.races, l)
	s.races = s.races[max(0, len(s.races)-maxRaces):]
	s.running.Go(func() {
		services, err := s.run(s.ctx, l)
		s.mu.Lock()
		s.busy = false // before listeners are told of the end: they may start the next race
		s.mu.Unlock()
		l.end(err)
		stopAll(services)
	})
	return l, nil
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

// summaries returns the session's races, newest first.
func (s *session) summaries() []Summary {
	s.mu.Lock()
	races := slices.Clone(s.races)
	s.mu.Unlock()
	list := []Summary{}
	for _, l := range slices.Backward(races) {
		list = append(list, l.summary())
	}
	return list
}
