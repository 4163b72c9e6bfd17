package generations

import (
	"sync"
	"time"

	"example.com/flashsale/loadtest/report"
	"example.com/flashsale/loadtest/rig"
)

// A timeline records what the processes of a scenario did with one key: a span
// for each call, and one for the time that a process takes itself for the
// holder.
type timeline struct {
	key       string
	begin     time.Time
	processes []*process // A, B, C in the order of creation

	mu     sync.Mutex
	faults report.Lane // what no process did
}

func newTimeline(key string) *timeline {
	return &timeline{key: key, begin: time.Now(), faults: report.Lane{Name: "the fault"}}
}

func (t *timeline) now() float64 { return rig.Milliseconds(time.Since(t.begin)) }

// fault records that what happened.
func (t *timeline) fault(what string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.faults.Spans = append(t.faults.Spans, report.Span{Name: what, Kind: report.Fault, From: t.now(), To: t.now()})
}

// lanes returns the rows of the chart, and ends the holds that are left.
func (t *timeline) lanes() (lanes []report.Lane) {
	for _, p := range t.processes {
		p.released()
		lanes = append(lanes, report.Lane{Name: "process " + p.name, Spans: p.spans})
	}
	t.mu.Lock() // an injected fault may still stop a renewal
	defer t.mu.Unlock()
	return append(lanes, t.faults)
}
