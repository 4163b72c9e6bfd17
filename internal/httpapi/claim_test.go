package httpapi

import (
	"strings"
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
	wantProblem(t, f.claim(id, "nobody's"), 401, "invalid_token") // takes nobody's place
	wantProblem(t, f.claim("x", user(t, 42)), 422, "invalid_input")
	if got := f.do("GET", "/metrics", "", "").Body.String(); !strings.Contains(got, `flashsale_claims_total{verdict="unavailable"} 1`) {
		t.Error("the claim that found no place is not counted")
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
