package main

import (
	"testing"

	"example.com/flashsale/internal/auth"
)

func TestLimitsComeFromTheSettings(t *testing.T) {
	t.Parallel()
	i := start(t, environ(t, map[string]string{
		"USER_RATE": "0.001", "USER_BURST": "2", "ADDRESS_RATE": "0.001", "ADDRESS_BURST": "1000",
		"TRUSTED_PROXIES": "127.0.0.0/8,::1/128",
	})).ready(t)
	user, other := tokenFor(t, 42, auth.RoleUser), tokenFor(t, 43, auth.RoleUser)
	for _, want := range []int{404, 404, 429} {
		wantStatus(t, i.post(t, "/coupons/7/orders", user, ""), want)
	}
	wantStatus(t, i.post(t, "/coupons/7/orders", other, ""), 404)
	served := 0
	for served <= 1000 && i.get(t, "/made-up-path", "").status != 429 { // one refusal is enough: each takes a second
		served++
	}
	if served < 900 || served > 1000 { // some were served until the instance was ready
		t.Errorf("%d requests of a stranger were served, want about 1000", served)
	}
}
