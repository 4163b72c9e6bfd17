package linearizable

import (
	"bytes"
	"cmp"
	"slices"
	"strconv"
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
	switch found := s.from(state{done: make([]byte, len(s.steps))}); {
	case found:
		return linearizable
	case len(s.visited) >= maxStates:
		return undecided
	}
	return violated
}

// A state is the steps that are done.
type state struct {
	done  []byte // 1 for each step that is done
	first int    // the first step that is not done
	count int
}

// from reports whether the steps that st lacks can follow it.
func (s *search) from(st state) bool {
	candidates, blocking := s.read(&st)
	if st.count >= s.deepest {
		s.deepest, s.blocking = st.count, blocking
	}
	if st.count == len(s.steps) {
		return true
	}
	key := st.key()
	if s.visited[key] || len(s.visited) >= maxStates {
		return false
	}
	s.visited[key] = true
	for _, i := range candidates {
		step := s.steps[i]
		if step.reads() || !s.model.possible(step) {
			continue
		}
		next := st
		next.done = slices.Clone(st.done)
		next.do(i)
		s.model.do(step)
		if s.from(next) {
			return true
		}
		s.model.undo(step)
	}
	return false
}

// read does the reads that are possible in st, and returns the steps that can
// come next and the one that must come first of all that are left.
func (s *search) read(st *state) (candidates []int, blocking step) {
	for again := true; again; {
		candidates, blocking, again = s.candidates(*st), step{ret: never}, false
		for _, i := range candidates {
			if step := s.steps[i]; step.reads() && s.model.possible(step) {
				st.do(i)
				again = true
			} else if step.ret < blocking.ret {
				blocking = step
			}
		}
	}
	return candidates, blocking
}

// candidates returns the steps that are not done and were called before any of
// them returned, the earliest return first.
func (s *search) candidates(st state) (found []int) {
	earliest := never
	for i := st.first; i < len(s.steps) && s.steps[i].call <= earliest; i++ {
		if st.done[i] == 0 {
			found = append(found, i)
			earliest = min(earliest, s.steps[i].ret)
		}
	}
	found = slices.DeleteFunc(found, func(i int) bool { return s.steps[i].call > earliest })
	slices.SortStableFunc(found, func(a, b int) int { return cmp.Compare(s.steps[a].ret, s.steps[b].ret) })
	return found
}

// key returns the steps that are done.
func (st *state) key() string {
	return strconv.Itoa(st.first) + ":" + string(bytes.TrimRight(st.done[st.first:], "\x00"))
}

func (st *state) do(i int) {
	st.done[i] = 1
	st.count++
	for st.first < len(st.done) && st.done[st.first] == 1 {
		st.first++
	}
}
