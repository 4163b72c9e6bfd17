package rig

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// api replies to the creation and to claims of coupons as the service does.
func api(t *testing.T) Client {
	t.Helper()
	mux := http.NewServeMux()
	mux.HandleFunc("POST /coupons", func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil || r.Header.Get("Authorization") != "Bearer admin" ||
			!strings.Contains(string(body), `"stock":50`) {
			http.Error(w, "forbidden", http.StatusForbidden)
			return
		}
		w.WriteHeader(http.StatusCreated)
		_, _ = io.WriteString(w, `{"id":"42"}`)
	})
	mux.HandleFunc("POST /coupons/42/orders", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Instance", "a")
		w.WriteHeader(http.StatusConflict)
		_, _ = io.WriteString(w, `{"code":"already_claimed","order_id":"7`+r.FormValue("number")+`"}`)
	})
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	return NewClient(server.URL)
}

func TestClientCreatesCouponsAndClaimsThem(t *testing.T) {
	t.Parallel()
	c := api(t)
	if id, err := c.CreateCoupon(t.Context(), "admin", NewCoupon{Stock: 50}); id != "42" || err != nil {
		t.Fatal(id, err)
	}
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

func TestUnexpectedStatusIsAnError(t *testing.T) {
	t.Parallel()
	_, err := api(t).CreateCoupon(t.Context(), "user", NewCoupon{Stock: 50})
	if err == nil || !strings.Contains(err.Error(), "status 403, want 201: forbidden") {
		t.Errorf("got %v", err)
	}
}
