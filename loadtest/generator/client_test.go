package generator

import (
	"context"
	"net/http"
	"strconv"
	"sync"
	"testing"
	"time"
)

func TestClientGivesEachGoroutineTheReplyToItsRequest(t *testing.T) {
	t.Parallel()
	address, _ := serve(t, makeOrder)
	c, err := NewClient(address, testTimeout)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	var all sync.WaitGroup
	for i := range 20 {
		all.Go(func() {
			for k := range 20 {
				coupon := strconv.Itoa(100*i + k)
				r := c.Do(t.Context(), AppendClaim(nil, "test", coupon, 1, nil))
				if want := "/coupons/" + coupon + "/orders"; r.Err != nil || r.Order != want ||
					r.Received.Before(r.Due) {
					t.Errorf("%+v, want order %s", r, want)
				}
			}
		})
	}
	all.Wait()
}

func TestClientDoesNotWaitForAReplyLongerThanItsCaller(t *testing.T) {
	t.Parallel()
	address, _ := serve(t, func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	c, err := NewClient(address, testTimeout)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	if r := c.Do(ctx, AppendClaim(nil, "test", "1", 1, nil)); r.Err == nil {
		t.Errorf("%+v, want an error", r)
	}
	pending := make(chan Reply)
	go func() { pending <- c.Do(t.Context(), AppendClaim(nil, "test", "2", 1, nil)) }()
	c.Close()
	if r := <-pending; r.Err == nil {
		t.Errorf("%+v after Close, want an error", r)
	}
}

func TestVerdictOfAReply(t *testing.T) {
	t.Parallel()
	for want, r := range map[string]Reply{
		"accepted": {Status: 201}, "sold_out": {Status: 409, Code: "sold_out"}, "404": {Status: 404},
		"unavailable": {Status: 503}, "overloaded": {Status: 503, Code: "overloaded"}, "lost": {Status: 502},
	} {
		if got := verdictOf(r); got != want {
			t.Errorf("%+v: %s, want %s", r, got, want)
		}
	}
	if got := verdictOf(Reply{}); got != "lost" {
		t.Errorf("no reply: %s, want lost", got)
	}
}
