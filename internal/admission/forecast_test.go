package admission

import (
	"testing"
	"time"
)

var start = time.Date(2026, 11, 11, 0, 0, 0, 0, time.UTC)

const limit = 1500 * time.Millisecond

// serve lets perSecond requests a second leave the queue from a time until
// another, both counted from start.
func (f *Forecast) serve(perSecond int, from, to time.Duration) {
	step := time.Second / time.Duration(perSecond)
	for at := from; at < to; at += step {
		f.Leave(start.Add(at))
	}
}

func TestCrowdJoinsAQueueThatHasJustFormed(t *testing.T) {
	t.Parallel()
	var f Forecast
	for waiting := range 10_000 {
		if !f.Join(start, waiting, limit, time.Time{}) {
			t.Fatalf("refused behind %d, before anything could be measured", waiting)
		}
	}
}

func TestCrowdThatStillConnectsIsNotMisjudged(t *testing.T) {
	t.Parallel()
	var f Forecast
	f.Join(start, 0, limit, time.Time{})
	f.serve(500, 0, 350*time.Millisecond) // the CPU is busy with connections
	if !f.Join(start.Add(350*time.Millisecond), 4000, limit, time.Time{}) {
		t.Error("refused by the rate of the first moments")
	}
}

func TestWaitIsPredictedFromTheRate(t *testing.T) {
	t.Parallel()
	var f Forecast
	f.Join(start, 0, limit, time.Time{})
	f.serve(5000, 0, 800*time.Millisecond)
	now := start.Add(800 * time.Millisecond)
	if wait, known := f.Wait(now, 5000); !known || wait < 900*time.Millisecond || wait > 1100*time.Millisecond {
		t.Errorf("5000 wait at 5000/s: predicted %s, %v", wait, known)
	}
	for _, test := range []struct {
		waiting  int
		deadline time.Time
		want     bool
	}{
		{7000, time.Time{}, true},
		{8000, time.Time{}, false}, // longer than a burst may wait
		{5000, now.Add(2 * time.Second), true},
		{5000, now.Add(500 * time.Millisecond), false}, // too late for this request
	} {
		if got := f.Join(now, test.waiting, limit, test.deadline); got != test.want {
			t.Errorf("behind %d, deadline %s: %v, want %v", test.waiting, test.deadline.Sub(now), got, test.want)
		}
	}
}

// A crowd that comes after a few claims must not be judged by their rate.
func TestRateIsForgottenWhenTheQueueIsEmpty(t *testing.T) {
	t.Parallel()
	var f Forecast
	f.Join(start, 0, limit, time.Time{})
	f.serve(10, 0, 2*time.Second)
	now := start.Add(2 * time.Second)
	if f.Join(now, 5000, limit, time.Time{}) {
		t.Error("joined a queue that takes minutes")
	}
	if !f.Join(now, 0, limit, time.Time{}) || !f.Join(now, 5000, limit, time.Time{}) {
		t.Error("a crowd was refused after a calm")
	}
}

func TestNobodyJoinsAQueueThatNothingLeaves(t *testing.T) {
	t.Parallel()
	var f Forecast
	f.Join(start, 0, limit, time.Time{})
	if !f.Join(start.Add(900*time.Millisecond), 1, limit, time.Time{}) {
		t.Error("refused before it could be known that nothing leaves")
	}
	if f.Join(start.Add(time.Second), 1, limit, time.Time{}) {
		t.Error("joined")
	}
	f.serve(1000, time.Second, 1300*time.Millisecond)
	if !f.Join(start.Add(1300*time.Millisecond), 50, limit, time.Time{}) {
		t.Error("refused although requests leave again")
	}
}

func TestOldRatesAreForgotten(t *testing.T) {
	t.Parallel()
	var f Forecast
	f.Join(start, 0, limit, time.Time{})
	f.serve(5000, 0, time.Second)
	f.serve(100, time.Second, 2200*time.Millisecond)
	if wait, _ := f.Wait(start.Add(2200*time.Millisecond), 100); wait < 900*time.Millisecond {
		t.Errorf("100 wait at 100/s: predicted %s", wait)
	}
	if wait, _ := f.Wait(start.Add(time.Minute), 100); wait != never {
		t.Errorf("nothing has left for a minute: predicted %s", wait)
	}
}

func TestNoLimitRefusesNothing(t *testing.T) {
	t.Parallel()
	var f Forecast
	f.Join(start, 0, 0, time.Time{})
	if !f.Join(start.Add(time.Hour), 1000, 0, start) {
		t.Error("refused")
	}
}
