package httpapi

import (
	"strings"
	"testing"
)

func TestIdentity(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	t.Run("RequestsNeedAValidToken", f.requestsNeedAValidToken)
	t.Run("IdentityIsCheckedBeforeInput", f.identityIsCheckedBeforeInput)
	t.Run("OnlyAdminsWriteAndAudit", f.onlyAdminsWriteAndAudit)
	t.Run("RoutingErrorsAreProblems", f.routingErrorsAreProblems)
}

func (f *fixture) requestsNeedAValidToken(t *testing.T) {
	id := f.createCoupon(t, 1)
	for _, route := range []string{"GET /orders", "POST /coupons/" + id + "/orders"} {
		method, path, _ := strings.Cut(route, " ")
		for token, code := range map[string]string{"": "unauthorized", "garbage": "invalid_token"} {
			r := f.do(method, path, token, "")
			wantProblem(t, r, 401, code)
			got := r.Header().Get("WWW-Authenticate")
			if !strings.HasPrefix(got, "Bearer ") || strings.Contains(got, "invalid_token") != (token != "") {
				t.Errorf("%s with token %q: WWW-Authenticate: %q", route, token, got)
			}
		}
	}
	if log := f.log.String(); strings.Count(log, "token is malformed") != 1 { // of two
		t.Errorf("the log does not say once why tokens are refused: %s", log)
	}
}

func (f *fixture) identityIsCheckedBeforeInput(t *testing.T) {
	wantProblem(t, f.do("GET", "/orders/x", "", ""), 401, "unauthorized")
	wantProblem(t, f.do("POST", "/coupons", userToken(t, 42), "{"), 403, "forbidden")
}

func (f *fixture) onlyAdminsWriteAndAudit(t *testing.T) {
	id := f.createCoupon(t, 1)
	for _, route := range []string{"POST /coupons", "POST /coupons/" + id + "/stock",
		"PATCH /coupons/" + id, "GET /coupons/" + id + "/audit", "GET /coupons/" + id + "/orders",
		"GET /coupons/" + id + "/orders.ndjson", "GET /changes"} {
		method, path, _ := strings.Cut(route, " ")
		body := ""
		if method != "GET" {
			body = `{"add":1}`
		}
		wantProblem(t, f.do(method, path, userToken(t, 42), body), 403, "forbidden")
		if r := f.do(method, path, adminToken(t), body); r.Code == 401 || r.Code == 403 {
			t.Errorf("%s as admin: %v", route, r)
		}
	}
}
