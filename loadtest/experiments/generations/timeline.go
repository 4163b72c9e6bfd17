package generations

import (
	"context"
	"sync"
	"time"

	"example.com/flashsale/loadtest/report"
	"example.com/flashsale/loadtest/rig"
)

// A timeline records what the processes of a scenario did with one key: a span
// for each call, and one for the time that a process takes itself for the
// holder.
type timeline struct {
	begin   time.Time
	mutexes []*recordedMutex // of the processes: A, B, C in the order of creation

	mu     sync.Mutex
	faults report.Lane // what no process did
}

func newTimeline() *timeline {
	return &timeline{begin: time.Now(), faults: report.Lane{Name: "the fault"}}
}

func (t *timeline) now() float64 { return rig.Milliseconds(time.Since(t.begin)) }

// fault records that what happened.
func (t *timeline) fault(what string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.faults.Spans = append(t.faults.Spans, report.Span{Name: what, Kind: report.Fault, From: t.now(), To: t.now()})
}

// record returns m such that its calls are recorded.
func (t *timeline) record(m mutex) mutex {
	r := &recordedMutex{mutex: m, timeline: t, process: string(rune('A' + len(t.mutexes)))}
	t.mutexes = append(t.mutexes, r)
	return r
}

// lanes returns the rows of the chart, and ends the holds that are left.
func (t *timeline) lanes() (lanes []report.Lane) {
	for _, m := range t.mutexes {
		m.released()
		lanes = append(lanes, report.Lane{Name: "process " + m.process, Spans: m.spans})
	}
	t.mu.Lock() // an injected fault may still stop a renewal
	defer t.mu.Unlock()
	return append(lanes, t.faults)
}

// A recordedMutex records the calls of a mutex, which one goroutine makes.
type recordedMutex struct {
	mutex
	timeline *timeline
	process  string
	spans    []report.Span
	holds    bool
	since    float64
}

func (m *recordedMutex) add(kind report.Kind, what string, from float64) {
	m.spans = append(m.spans, report.Span{Name: m.process + what, Kind: kind, From: from, To: m.timeline.now()})
}

func (m *recordedMutex) released() {
	if m.holds {
		m.add(report.Hold, " takes itself for the holder", m.since)
	}
	m.holds = false
}

func (m *recordedMutex) TryLock(ctx context.Context, ttl time.Duration) (bool, error) {
	from := m.timeline.now()
	ok, err := m.mutex.TryLock(ctx, ttl)
	switch {
	case err != nil:
		m.add(report.Call, ": TryLock fails: "+err.Error(), from)
	case ok:
		m.add(report.Call, ": TryLock succeeds", from)
		if !m.holds {
			m.holds, m.since = true, m.timeline.now()
		}
	default:
		m.add(report.Call, ": TryLock is refused", from)
	}
	return ok, err
}

func (m *recordedMutex) Unlock(ctx context.Context) error {
	from := m.timeline.now()
	err := m.mutex.Unlock(ctx)
	m.released()
	m.add(report.Call, ": Unlock", from)
	return err
}

// recorded returns the mutex whose calls m records, which may have more methods.
func recorded(m mutex) mutex {
	if r, ok := m.(*recordedMutex); ok {
		return r.mutex
	}
	return m
}
