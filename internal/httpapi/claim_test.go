package httpapi

import (
	"testing"
	"time"
)

func TestClaimsBeyondTheBoundWaitTheirTurn(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.Timeout = 300 * time.Millisecond
	id := f.onSale(t, 5)
	for range claimsAtOnce {
		f.places <- struct{}{}
	}
	a := f.claim(id, user(t, 42))
	wantProblem(t, a, 503, "unavailable")
	if a.Header().Get("Retry-After") == "" {
		t.Errorf("no Retry-After: %v", a)
	}
	if a := f.do("GET", "/coupons/"+id, user(t, 42), ""); a.Code != 200 {
		t.Errorf("another operation has to wait: %v", a)
	}
	f.Timeout = 30 * time.Second
	answer := make(chan answer)
	go func() { answer <- f.claim(id, user(t, 42)) }()
	<-f.places
	if a := <-answer; a.Code != 201 {
		t.Errorf("after a place was free: %v", a)
	}
	if n := len(f.places); n != claimsAtOnce-1 {
		t.Errorf("%d places are taken, want %d", n, claimsAtOnce-1)
	}
}
