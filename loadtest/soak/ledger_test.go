package main

import (
	"net/http"
	"testing"
	"time"
)

var someone = purchase{user: 1, coupon: 2}

func TestLedgerReportsASecondOrder(t *testing.T) {
	t.Parallel()
	l := newLedger()
	if had := l.note(someone, answer{status: http.StatusCreated, ID: "7"}, time.Millisecond); had != 0 {
		t.Errorf("the first order contradicts %d", had)
	}
	if had := l.note(someone, answer{status: http.StatusCreated, ID: "8"}, time.Millisecond); had != 7 {
		t.Errorf("the second order contradicts %d, want 7", had)
	}
}

func TestLedgerReportsAnotherOrderThanPromised(t *testing.T) {
	t.Parallel()
	l := newLedger()
	l.note(someone, answer{status: http.StatusCreated, ID: "7"}, time.Millisecond)
	if had := l.note(someone, answer{status: 409, Code: "already_claimed", Order: "7"}, time.Millisecond); had != 0 {
		t.Errorf("the same order contradicts %d", had)
	}
	if had := l.note(someone, answer{status: 409, Code: "already_claimed", Order: "9"}, time.Millisecond); had != 7 {
		t.Errorf("another order contradicts %d, want 7", had)
	}
}

func TestLedgerHandsOutEveryPromise(t *testing.T) {
	t.Parallel()
	l := newLedger()
	l.note(someone, answer{status: http.StatusCreated, ID: "7"}, time.Millisecond)
	taken := l.take()
	if taken[7] != someone || len(l.take()) != 0 {
		t.Errorf("took %v, and again", taken)
	}
	l.giveBack(taken)
	if again := l.take(); again[7] != someone {
		t.Errorf("what was given back is gone: %v", again)
	}
	if all := l.all(); all[7] != someone {
		t.Errorf("all: %v", all)
	}
}

func TestNoAnswerIsADoubt(t *testing.T) {
	t.Parallel()
	l := newLedger()
	for _, a := range []answer{{}, {status: 503, Code: "unavailable"}} {
		l.note(someone, a, time.Millisecond)
	}
	if doubts := l.doubts(); len(doubts) != 1 || doubts[0] != someone {
		t.Errorf("doubts %v", doubts)
	}
}
