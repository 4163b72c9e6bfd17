package soak

import (
	"net/http"
	"testing"
	"time"
)

var someClaim = claim{user: 1, coupon: 2}

func TestHistoryReportsASecondOrder(t *testing.T) {
	t.Parallel()
	h := newHistory()
	if order := h.add(someClaim, reply{status: http.StatusCreated, ID: "7"}, time.Millisecond); order != 0 {
		t.Errorf("the first order contradicts %d", order)
	}
	if order := h.add(someClaim, reply{status: http.StatusCreated, ID: "8"}, time.Millisecond); order != 7 {
		t.Errorf("the second order contradicts %d, want 7", order)
	}
}

func TestHistoryReportsADifferentOrder(t *testing.T) {
	t.Parallel()
	h := newHistory()
	h.add(someClaim, reply{status: http.StatusCreated, ID: "7"}, time.Millisecond)
	if order := h.add(someClaim, reply{status: 409, Code: "already_claimed", Order: "7"},
		time.Millisecond); order != 0 {
		t.Errorf("the same order contradicts %d", order)
	}
	if order := h.add(someClaim, reply{status: 409, Code: "already_claimed", Order: "9"},
		time.Millisecond); order != 7 {
		t.Errorf("a different order contradicts %d, want 7", order)
	}
}

func TestHistoryReturnsEveryOrderToCheck(t *testing.T) {
	t.Parallel()
	h := newHistory()
	h.add(someClaim, reply{status: http.StatusCreated, ID: "7"}, time.Millisecond)
	taken := h.takeUnchecked()
	if taken[7] != someClaim || len(h.takeUnchecked()) != 0 {
		t.Errorf("took %v, and again", taken)
	}
	h.putBack(taken)
	if again := h.takeUnchecked(); again[7] != someClaim {
		t.Errorf("what was put back is not there: %v", again)
	}
	if all := h.orders(); all[7] != someClaim {
		t.Errorf("all: %v", all)
	}
}

func TestClaimsWithoutAVerdictAreKept(t *testing.T) {
	t.Parallel()
	h := newHistory()
	for _, r := range []reply{{}, {status: 503, Code: "unavailable"}} {
		h.add(someClaim, r, time.Millisecond)
	}
	if claims := h.withoutVerdict(); len(claims) != 1 || claims[0] != someClaim {
		t.Errorf("claims without a verdict: %v", claims)
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
