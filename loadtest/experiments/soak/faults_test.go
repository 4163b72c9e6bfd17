package soak

import (
	"testing"
	"time"

	"example.com/flashsale/internal/lab"
	"example.com/flashsale/loadtest/rig"
)

// emptyRun returns a run whose faults can be listed, but not injected.
func emptyRun() *run {
	instanceOf := func(name string) *instance { return &instance{API: &lab.API{}, name: name} }
	return &run{
		stack: &rig.Stack{MySQL: &lab.MySQL{}, Redis: &lab.Redis{}},
		a:     instanceOf("a"), b: instanceOf("b"),
	}
}

func TestFullRunHasTimeForEveryFault(t *testing.T) {
	t.Parallel()
	faults := emptyRun().listFaults()
	rest := restBetween(fullRun, faults)
	total := sellLimit
	for _, f := range faults {
		total += rest + f.lasts + overhead
	}
	if total > fullRun || rest < 2*time.Second {
		t.Errorf("%d faults take %s of %s, with %s between them", len(faults), total, fullRun, rest)
	}
}

// Among them are partitions from MySQL and Redis, a suspended instance, a locked
// coupon and two first starts.
func TestShortRunHasTimeForTheFirstFaults(t *testing.T) {
	t.Parallel()
	faults := emptyRun().listFaults()
	rest := restBetween(time.Minute, faults)
	total := sellLimit
	for _, f := range faults[:7] {
		total += rest + f.lasts + overhead
	}
	if total > time.Minute || rest != 500*time.Millisecond {
		t.Errorf("the first faults take %s, with %s between them", total, rest)
	}
}

func TestFullRunMustHaveEveryFault(t *testing.T) {
	t.Parallel()
	r := emptyRun()
	r.faults = r.listFaults()
	for d, want := range map[time.Duration]int{time.Minute: 1, fullRun: len(r.faults)} {
		if r.duration = d; r.leastFaults() != want {
			t.Errorf("%s: at least %d faults, want %d", d, r.leastFaults(), want)
		}
	}
}

func TestLockedCouponMustNotHoldUpOthers(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		claims, prompt int64
		want           bool
	}{{100, 100, true}, {100, 80, true}, {100, 79, false}, {100, 0, false}, {0, 0, false}} {
		if got := sellsOthers(test.claims, test.prompt); got != test.want {
			t.Errorf("%d of %d prompt: %t", test.prompt, test.claims, got)
		}
	}
}
