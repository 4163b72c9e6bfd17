package linearizable

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"time"

	"example.com/flashsale/loadtest/trial"
)

// A search looks for an order of steps in which each is possible. The order must agree
// with time: a step that returned before another was called comes before it.
//
// The search is that of Wing and Gong, with Lowe's memory of the states that were
// visited. What a set of steps leads to does not depend on their order, so a state is the
// set. The search differs in one point: a step that only reads changes nothing, so it is
// taken as soon as it is possible. That loses no order: if a later place of it is part of
// a valid order, so is the earlier one. What remains to be tried are the orders of the
// steps that change something and are under way at the same time.
type search struct {
	steps    []step
	model    model
	visited  map[string]bool
	deepest  int  // how many steps the longest order had that was found
	blocking step // what could not follow it
}

// maxStates bounds the search. It ends long before on the histories of this
// package; a search that reaches the bound has decided nothing.
const maxStates = 200_000

// A result is what a search has found out.
type result int

const (
	linearizable result = iota
	violated
	undecided
)

func newSearch(steps []step, initial int) *search {
	sorted := slices.Clone(steps)
	slices.SortFunc(sorted, func(a, b step) int { return cmp.Compare(a.call, b.call) })
	return &search{steps: sorted, visited: map[string]bool{},
		model: model{initial, map[owner]holding{}}}
}

func (s *search) run() result {
	switch found := s.from(make([]byte, len(s.steps))); {
	case found:
		return linearizable
	case len(s.visited) >= maxStates:
		return undecided
	}
	return violated
}

// from reports whether the steps that are not done can follow those that are: done has a 1 for each.
func (s *search) from(done []byte) bool {
	candidates, blocking := s.read(done)
	if count := bytes.Count(done, []byte{1}); count >= s.deepest {
		s.deepest, s.blocking = count, blocking
	}
	if s.deepest == len(s.steps) {
		return true
	}
	key := string(bytes.TrimLeft(done, "\x01"))
	if s.visited[key] || len(s.visited) >= maxStates {
		return false
	}
	s.visited[key] = true
	for _, i := range candidates {
		step := s.steps[i]
		if step.reads() || !s.model.possible(step) {
			continue
		}
		next := slices.Clone(done)
		next[i] = 1
		s.model.do(step)
		if s.from(next) {
			return true
		}
		s.model.undo(step)
	}
	return false
}

// read does the reads that are possible, and returns the steps that can
// come next and the one that must come first of all that are left.
func (s *search) read(done []byte) (candidates []int, blocking step) {
	for again := true; again; {
		candidates, blocking, again = s.candidates(done), step{ret: never}, false
		for _, i := range candidates {
			if step := s.steps[i]; step.reads() && s.model.possible(step) {
				done[i], again = 1, true
			} else if step.ret < blocking.ret {
				blocking = step
			}
		}
	}
	return candidates, blocking
}

// candidates returns the steps that are not done and were called before any of
// them returned, the earliest return first.
func (s *search) candidates(done []byte) (found []int) {
	earliest := never
	for i := bytes.IndexByte(done, 0); i >= 0 && i < len(done) && s.steps[i].call <= earliest; i++ {
		if done[i] == 0 {
			found = append(found, i)
			earliest = min(earliest, s.steps[i].ret)
		}
	}
	found = slices.DeleteFunc(found, func(i int) bool { return s.steps[i].call > earliest })
	slices.SortStableFunc(found, func(a, b int) int { return cmp.Compare(s.steps[a].ret, s.steps[b].ret) })
	return found
}

// couponCache is COUPON_CACHE: how old may be what an instance knows of a coupon, and so
// what it refuses a claim by.
const couponCache = 200 * time.Millisecond

// check returns why the operations on a coupon since begin are not linearizable, or nil.
func check(operations []trial.Operation, begin time.Time, end final) error {
	steps, err := resolve(operations, begin, end)
	if err != nil {
		return err
	}
	s := newSearch(steps, end.initial)
	switch s.run() {
	case undecided:
		return fmt.Errorf("undecided after %d states", maxStates)
	case violated:
		return fmt.Errorf("no order of %d steps agrees with the replies: %d can be ordered, and %s cannot follow",
			len(steps), s.deepest, s.blocking)
	}
	return nil
}
