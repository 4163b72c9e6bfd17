package main

import (
	"net/http"
	"strings"
	"testing"

	"example.com/flashsale/internal/auth"
	"example.com/flashsale/internal/check"
	"example.com/flashsale/internal/lab"
	"example.com/flashsale/internal/lab/labtest"
)

// The preflight of a claim, which passes nginx as others do, is none.
func TestPageOfAnotherOriginClaimsThroughNginx(t *testing.T) {
	t.Parallel()
	const shop = "https://shop.example"
	i := start(t, environ(t, map[string]string{"CORS_ORIGINS": shop + ",http://localhost:5173"})).ready(t)
	nginx, err := lab.StartNginx(labtest.Lab(t), "../../deploy/nginx", strings.TrimPrefix(i.url, "http://"))
	check.NoError(t, err)
	t.Cleanup(nginx.Kill)
	url := nginx.URL + "/coupons/" + i.createCoupon(t, 1) + "/orders"
	user := "Bearer " + tokenFor(t, 42, auth.RoleUser)
	for _, test := range []struct {
		method, origin, authorization string
		status                        int
		allowed, exposed              string
	}{
		{"OPTIONS", shop, "", 200, shop, ""},
		{"OPTIONS", "http://localhost:5173", "", 200, "http://localhost:5173", ""},
		{"OPTIONS", "https://evil.example", "", 200, "", ""},
		{"POST", shop, "", 401, shop, "Location, Retry-After, X-Instance, X-Trace-Id"},
		{"POST", shop, user, 201, shop, "Location, Retry-After, X-Instance, X-Trace-Id"},
		{"POST", shop, user, 409, shop, "Location, Retry-After, X-Instance, X-Trace-Id"},
		{"POST", "https://evil.example", user, 409, "", ""},
	} {
		req, err := http.NewRequestWithContext(t.Context(), test.method, url, nil)
		check.NoError(t, err)
		req.Header = http.Header{"Origin": {test.origin}, "Authorization": {test.authorization}}
		if test.method == "OPTIONS" {
			req.Header = http.Header{"Origin": {test.origin}, "Access-Control-Request-Method": {"POST"},
				"Access-Control-Request-Headers": {"authorization"}}
		}
		resp, err := http.DefaultClient.Do(req)
		check.NoError(t, err)
		_ = resp.Body.Close()
		h := resp.Header
		if resp.StatusCode != test.status || h.Get("Access-Control-Allow-Origin") != test.allowed ||
			h.Get("Access-Control-Expose-Headers") != test.exposed || h.Get("Vary") != "Origin" {
			t.Errorf("%+v: %s, %v", test, resp.Status, h)
		}
	}
}
