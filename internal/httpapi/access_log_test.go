package httpapi

import (
	"net/http/httptest"
	"strings"
	"testing"
)

func TestAccessLogHasNoTokens(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.cfg.AccessLog = 1
	id := f.createCoupon(t, 1)
	token := userToken(t, 42)
	r := httptest.NewRequest("POST", "/coupons/"+id+"/orders?token="+token, nil)
	r.Header.Set("Authorization", "Bearer "+token)
	r.Header.Set("X-Request-Id", "0123abcd")
	r.Header.Set("X-Real-IP", "6.6.6.6") // not from a trusted proxy
	f.send(r)
	log := f.log.String()
	for _, want := range []string{
		"level=INFO", "msg=request", "method=POST", "path=/coupons/" + id + "/orders", `route=/coupons/{id}/orders`,
		"status=201", "bytes=", "seconds=", "client=192.0.2.1", "request_id=0123abcd",
	} {
		if !strings.Contains(log, want) {
			t.Errorf("no %s in %s", want, log)
		}
	}
	if strings.Contains(log, token) || strings.Contains(log, "6.6.6.6") {
		t.Errorf("the log has a token, or a forged address: %s", log)
	}
}

func TestAccessLogIsASample(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	logged := func(share float64) int {
		f.cfg.AccessLog = share
		before := strings.Count(f.log.String(), "msg=request")
		for range 1000 {
			f.do("GET", "/livez", "", "")
		}
		return strings.Count(f.log.String(), "msg=request") - before
	}
	if n := logged(0); n != 0 {
		t.Errorf("%d entries without a share", n)
	}
	if n := logged(0.5); n < 350 || n > 650 { // one in 10^20 runs is outside
		t.Errorf("%d of 1,000 requests logged, want about 500", n)
	}
}
