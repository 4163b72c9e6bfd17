package httpapi

import (
	"strings"
	"testing"
)

func TestRequestsNeedAValidToken(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	id := f.onSale(t, 1)
	for _, route := range []string{"GET /orders", "POST /coupons/" + id + "/orders"} {
		method, path, _ := strings.Cut(route, " ")
		for token, code := range map[string]string{"": "unauthorized", "garbage": "invalid_token"} {
			a := f.do(method, path, token, "")
			wantProblem(t, a, 401, code)
			got := a.Header().Get("WWW-Authenticate")
			if !strings.HasPrefix(got, "Bearer ") || strings.Contains(got, "invalid_token") != (token != "") {
				t.Errorf("%s with token %q: WWW-Authenticate: %q", route, token, got)
			}
		}
	}
}

func TestIdentityIsCheckedBeforeInput(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	wantProblem(t, f.do("GET", "/orders/x", "", ""), 401, "unauthorized")
	wantProblem(t, f.do("POST", "/coupons", user(t, 42), "{"), 403, "forbidden")
}

func TestOnlyAdminsWriteAndAudit(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	id := f.onSale(t, 1)
	for _, route := range []string{"POST /coupons", "POST /coupons/" + id + "/stock", "GET /coupons/" + id + "/audit"} {
		method, path, _ := strings.Cut(route, " ")
		body := ""
		if method == "POST" {
			body = `{"add":1}`
		}
		wantProblem(t, f.do(method, path, user(t, 42), body), 403, "forbidden")
		if a := f.do(method, path, boss(t), body); a.Code == 401 || a.Code == 403 {
			t.Errorf("%s as admin: %v", route, a)
		}
	}
}
