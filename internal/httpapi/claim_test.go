package httpapi

import (
	"strings"
	"testing"
	"time"
)

func TestClaimsBeyondTheBoundWaitForASlot(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.cfg.Timeout = 300 * time.Millisecond
	id := f.createCoupon(t, 5)
	for range maxConcurrentClaims {
		f.slots <- struct{}{}
	}
	r := f.claim(id, userToken(t, 42))
	wantProblem(t, r, 503, "unavailable")
	if r.Header().Get("Retry-After") == "" {
		t.Errorf("no Retry-After: %v", r)
	}
	if r := f.do("GET", "/coupons/"+id, userToken(t, 42), ""); r.Code != 200 {
		t.Errorf("another operation waits for a slot: %v", r)
	}
	wantProblem(t, f.claim(id, "garbage"), 401, "invalid_token") // takes no slot
	wantProblem(t, f.claim("x", userToken(t, 42)), 422, "invalid_input")
	if got := f.do("GET", "/metrics", "", "").Body.String(); !strings.Contains(got, `flashsale_claims_total{verdict="unavailable"} 1`) {
		t.Error("the claim that got no slot is not counted")
	}
	f.cfg.Timeout = 30 * time.Second
	claimed := make(chan response)
	go func() { claimed <- f.claim(id, userToken(t, 42)) }()
	<-f.slots
	if r := <-claimed; r.Code != 201 {
		t.Errorf("after a slot was released: %v", r)
	}
	if n := len(f.slots); n != maxConcurrentClaims-1 {
		t.Errorf("%d slots are taken, want %d", n, maxConcurrentClaims-1)
	}
}
