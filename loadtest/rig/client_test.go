package rig

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

func TestClientSaysWhatItWasTold(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Instance", "a")
		w.WriteHeader(http.StatusConflict)
		_, _ = fmt.Fprintf(w, `{"code":"already_claimed","order_id":"7%s"}`, r.FormValue("number"))
	}))
	t.Cleanup(server.Close)
	c := NewClient(server.URL)
	for number, order := range map[int]string{0: "7", 3: "73"} {
		want := Claim{User: 1, Coupon: 42, Number: number, Verdict: "already_claimed", Order: order, Instance: "a"}
		got := c.Claim(t.Context(), "secret", Claim{User: 1, Coupon: 42, Number: number})
		if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(Claim{}, "Sent", "Received")); diff != "" ||
			got.Sent.IsZero() || got.Received.Before(got.Sent) {
			t.Error(diff, got)
		}
	}
	ended, end := context.WithCancel(t.Context())
	end()
	if got := c.Claim(ended, "secret", Claim{User: 1, Coupon: 42}); got.Verdict != Lost || got.Received.IsZero() {
		t.Errorf("without a reply: %+v", got)
	}
	_, err := c.CreateCoupon(t.Context(), "user", NewCoupon{}) // race and make up create one
	if err == nil || !strings.Contains(err.Error(), `status 409, want 201: {"code":"already_claimed"`) {
		t.Errorf("got %v", err)
	}
}

func TestVerdictOfAReply(t *testing.T) {
	t.Parallel()
	for want, reply := range map[string]struct {
		status int
		body   string
	}{
		Accepted: {201, `{"coupon_id":"1","id":"7"}`}, "sold_out": {409, `{"code":"sold_out"}`}, Lost: {502, ""},
		Unavailable: {503, "<html>"}, Overloaded: {503, `{"code":"overloaded"}`}, "404": {404, "not found"},
	} {
		got, order := readReply(reply.status, []byte(reply.body))
		if got != want || (order == "7") != (want == Accepted) {
			t.Errorf("%+v: %s of order %q, want %s", reply, got, order, want)
		}
	}
}
