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
	start sync.Once
	begin time.Time // of the first call

	mu    sync.Mutex
	names []string // of the processes: A, B, C in the order of creation
	spans map[string][]report.Span
	held  map[string]float64 // since when, by process
}

func newTimeline() *timeline {
	return &timeline{spans: map[string][]report.Span{}, held: map[string]float64{}}
}

func (t *timeline) now() float64 {
	t.start.Do(func() { t.begin = time.Now() })
	return rig.Milliseconds(time.Since(t.begin))
}

// addProcess returns the next process's name.
func (t *timeline) addProcess() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	name := string(rune('A' + len(t.names)))
	t.names = append(t.names, name)
	return name
}

func (t *timeline) add(process string, s report.Span) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.spans[process] = append(t.spans[process], s)
}

// faults is the row of what no process did.
const faults = "the fault"

// fault records that what happened.
func (t *timeline) fault(what string) {
	t.add(faults, report.Span{Name: what, Kind: report.Fault, From: t.now(), To: t.now()})
}

func (t *timeline) locked(process string) {
	now := t.now()
	t.mu.Lock()
	defer t.mu.Unlock()
	if _, already := t.held[process]; !already {
		t.held[process] = now
	}
}

// unlocked ends the process's hold, if it has one.
func (t *timeline) unlocked(process string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if from, held := t.held[process]; held {
		t.spans[process] = append(t.spans[process],
			report.Span{Name: process + " takes itself for the holder", Kind: report.Hold, From: from, To: t.now()})
		delete(t.held, process)
	}
}

// lanes returns the rows of the chart, and ends the holds that are left.
func (t *timeline) lanes() []report.Lane {
	var lanes []report.Lane
	for _, name := range t.names {
		t.unlocked(name)
		lanes = append(lanes, report.Lane{Name: "process " + name, Spans: t.spans[name]})
	}
	return append(lanes, report.Lane{Name: faults, Spans: t.spans[faults]})
}

// A recordedMutex records the calls of a mutex.
type recordedMutex struct {
	mutex
	process string
	*timeline
}

func (m *recordedMutex) TryLock(ctx context.Context, ttl time.Duration) (bool, error) {
	from := m.now()
	ok, err := m.mutex.TryLock(ctx, ttl)
	call := report.Span{Name: m.process + ": TryLock is refused", Kind: report.Call, From: from, To: m.now()}
	switch {
	case err != nil:
		call.Name = m.process + ": TryLock fails: " + err.Error()
	case ok:
		call.Name = m.process + ": TryLock succeeds"
		m.locked(m.process)
	}
	m.add(m.process, call)
	return ok, err
}

func (m *recordedMutex) Unlock(ctx context.Context) error {
	from := m.now()
	err := m.mutex.Unlock(ctx)
	m.unlocked(m.process)
	m.add(m.process, report.Span{Name: m.process + ": Unlock", Kind: report.Call, From: from, To: m.now()})
	return err
}

// recorded returns the mutex whose calls m records, which may have more methods.
func recorded(m mutex) mutex {
	if r, ok := m.(*recordedMutex); ok {
		return r.mutex
	}
	return m
}
