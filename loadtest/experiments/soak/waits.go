package soak

import (
	"cmp"
	"slices"
	"sync"
	"time"
)

// waitLimit is how long a claim may wait for its reply, whatever has failed.
const waitLimit = claimTimeout + time.Second

// A span is a time from begin to end.
type span struct{ begin, end time.Time }

func (s span) overlap(other span) time.Duration {
	begin, end := s.begin, s.end
	if other.begin.After(begin) {
		begin = other.begin
	}
	if other.end.Before(end) {
		end = other.end
	}
	return max(0, end.Sub(begin))
}

// A wait is the time from a claim to its reply, or to the error of a client that
// got none. The instance is the one that the claim was sent to, or empty if nginx
// chose one. Nginx waits for an instance longer than any client does (60 s), so it
// hides no late reply.
type wait struct {
	span
	claim    claim
	instance string
}

// A pause is a time during which an instance was suspended.
type pause struct {
	span
	instance string
}

// counted returns the time of w that the service is responsible for. A suspended
// instance cannot reply, so its pauses do not count. A claim through nginx may
// wait for either instance, so no pause counts.
func (w wait) counted(pauses []pause) time.Duration {
	d := w.end.Sub(w.begin)
	for _, p := range pauses {
		if w.instance == "" || w.instance == p.instance {
			d -= w.overlap(p.span)
		}
	}
	return d
}

// longest returns the longest wait that touches during, as it counts.
func longest(waits []wait, pauses []pause, during span) (d time.Duration) {
	for _, w := range waits {
		if !w.end.Before(during.begin) && !w.begin.After(during.end) {
			d = max(d, w.counted(pauses))
		}
	}
	return d
}

// late returns the waits that were longer than limit, the longest first.
func late(waits []wait, pauses []pause, limit time.Duration) (found []wait) {
	for _, w := range waits {
		if w.counted(pauses) > limit {
			found = append(found, w)
		}
	}
	slices.SortFunc(found, func(a, b wait) int { return cmp.Compare(b.counted(pauses), a.counted(pauses)) })
	return found
}

// waits are all waits of the run that are long enough to matter, and the pauses
// of its instances.
type waits struct {
	mu     sync.Mutex
	list   []wait
	pauses []pause
}

// shortest is the shortest wait that is kept. Most are of a few milliseconds.
const shortest = 50 * time.Millisecond

func (w *waits) add(one wait) {
	if one.end.Sub(one.begin) < shortest {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.list = append(w.list, one)
}

func (w *waits) longest(during span) time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	return longest(w.list, w.pauses, during)
}

func (w *waits) addPause(p pause) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.pauses = append(w.pauses, p)
}
