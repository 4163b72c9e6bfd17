package soak

import (
	"testing"
	"time"

	"example.com/flashsale/internal/lab"
	"example.com/flashsale/loadtest/fault"
	"example.com/flashsale/loadtest/rig"
	"example.com/flashsale/loadtest/trial"
)

// allFaults returns faults that cannot be injected.
func allFaults() []fault.Fault {
	instanceOf := func(name string) *trial.Instance {
		return &trial.Instance{API: &lab.API{}, Client: trial.Client{Name: name}}
	}
	s := &rig.Stack{MySQL: &lab.MySQL{}, Redis: &lab.Redis{}}
	return listFaults(&market{Pair: &trial.Pair{A: instanceOf("instance a"), B: instanceOf("instance b")}, stack: s})
}

func TestFullRunHasTimeForEveryFault(t *testing.T) {
	t.Parallel()
	faults := allFaults()
	rest := restBetween(fullRun, faults)
	total := sellLimit
	for _, f := range faults {
		total += rest + f.Lasts + overhead
	}
	if total > fullRun || rest < 2*time.Second {
		t.Errorf("%d faults take %s of %s, with %s between them", len(faults), total, fullRun, rest)
	}
}

// Among them are partitions from MySQL and Redis, a suspended instance and a locked
// coupon.
func TestShortRunHasTimeForTheFirstFaults(t *testing.T) {
	t.Parallel()
	faults := allFaults()
	rest := restBetween(time.Minute, faults)
	total := sellLimit
	for _, f := range faults[:7] {
		total += rest + f.Lasts + overhead
	}
	if total > time.Minute || rest != 500*time.Millisecond {
		t.Errorf("the first faults take %s, with %s between them", total, rest)
	}
}

func TestFullRunMustHaveEveryFault(t *testing.T) {
	t.Parallel()
	s := market{faults: allFaults()}
	for d, want := range map[time.Duration]int{time.Minute: 1, fullRun: len(s.faults)} {
		if s.duration = d; s.leastFaults() != want {
			t.Errorf("%s: at least %d faults, want %d", d, s.leastFaults(), want)
		}
	}
}

func TestDurationIsAtLeastTwentySeconds(t *testing.T) {
	t.Parallel()
	for setting, want := range map[string]time.Duration{"": 5 * time.Minute, "60s": time.Minute, "19s": 0, "long": 0} {
		if got, err := durationFrom(setting); got != want || (err == nil) != (want > 0) {
			t.Errorf("SOAK=%s: %v, %v; want %v", setting, got, err, want)
		}
	}
}
