package main

import (
	"testing"

	"example.com/flashsale/internal/auth"
)

// The preflight of a claim, which passes nginx as others do, is none.
func TestPageOfAnotherOriginClaimsThroughNginx(t *testing.T) {
	t.Parallel()
	const shop = "https://shop.example"
	i := start(t, environ(t, map[string]string{"CORS_ORIGINS": shop + ",http://localhost:5173"})).ready(t)
	nginx, path := behindNginx(t, i.address()), "/coupons/"+i.createCoupon(t, 1)+"/orders"
	user := tokenFor(t, 42, auth.RoleUser)
	for _, test := range []struct {
		method, origin, token string
		status                int
		allowed, exposed      string
	}{
		{"OPTIONS", shop, "", 200, shop, ""},
		{"OPTIONS", "http://localhost:5173", "", 200, "http://localhost:5173", ""},
		{"OPTIONS", "https://evil.example", "", 200, "", ""},
		{"POST", shop, "", 401, shop, "Location, Retry-After, X-Instance, X-Trace-Id"},
		{"POST", shop, user, 201, shop, "Location, Retry-After, X-Instance, X-Trace-Id"},
		{"POST", shop, user, 409, shop, "Location, Retry-After, X-Instance, X-Trace-Id"},
		{"POST", "https://evil.example", user, 409, "", ""},
	} {
		headers := []string{"Origin", test.origin}
		if test.method == "OPTIONS" {
			headers = append(headers, "Access-Control-Request-Method", "POST",
				"Access-Control-Request-Headers", "authorization")
		}
		r := nginx.do(t, test.method, path, test.token, "", headers...)
		h := r.header
		if r.status != test.status || h.Get("Access-Control-Allow-Origin") != test.allowed ||
			h.Get("Access-Control-Expose-Headers") != test.exposed || h.Get("Vary") != "Origin" {
			t.Errorf("%+v: %+v", test, r)
		}
	}
}
