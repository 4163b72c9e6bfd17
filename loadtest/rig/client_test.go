package rig

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// api replies to the creation and the audit of coupons as the service does.
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
	mux.HandleFunc("GET /coupons/42/audit", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `{"coupon_id":"42","initial_stock":50,"stock":49,"orders":1,"distinct_users":1}`)
	})
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	return NewClient(server.URL)
}

func TestClientCreatesAndAuditsCoupons(t *testing.T) {
	t.Parallel()
	c := api(t)
	coupons, err := c.CreateCoupons(t.Context(), "admin", SevenEach.Times(2))
	if diff := cmp.Diff([]string{"42", "42"}, coupons); diff != "" || err != nil {
		t.Fatal(diff, err)
	}
	accounts, err := c.Accounts(t.Context(), "admin", coupons[:1])
	want := []Account{{CouponID: 42, InitialStock: 50, Stock: 49, Orders: 1, Users: 1}}
	if diff := cmp.Diff(want, accounts); diff != "" || err != nil {
		t.Error(diff, err)
	}
}

func TestUnexpectedStatusIsAnError(t *testing.T) {
	t.Parallel()
	_, err := api(t).CreateCoupons(t.Context(), "user", SevenEach)
	if err == nil || !strings.Contains(err.Error(), "status 403, want 201: forbidden") {
		t.Errorf("got %v", err)
	}
}
