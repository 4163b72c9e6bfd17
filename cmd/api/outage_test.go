package main

import (
	"maps"
	"testing"
	"time"

	"example.com/flashsale/internal/auth"
	"example.com/flashsale/internal/check"
	"example.com/flashsale/internal/lab/labtest"
)

// A server is a MySQL or a Redis that a test can take down.
type server interface {
	Kill()
	Restart() error
	Pause()
	Resume()
}

// An outageTest is an instance with servers of its own and a coupon on sale.
type outageTest struct {
	*instance
	env          map[string]string
	mysql, redis server
	coupon       string
}

func newOutageTest(tb testing.TB) *outageTest {
	tb.Helper()
	mysql, redis := labtest.MySQL(tb), labtest.Redis(tb)
	o := &outageTest{mysql: mysql, redis: redis}
	o.env = environ(tb, map[string]string{"MYSQL_DSN": labtest.EmptyDatabase(tb, mysql), "REDIS_URL": redis.URL})
	o.instance = start(tb, o.env).ready(tb)
	o.coupon = o.createCoupon(tb, 1000)
	return o
}

// restart stops the instance and starts a new one.
func (o *outageTest) restart(tb testing.TB) {
	tb.Helper()
	o.end(tb)
	o.instance = begin(tb, maps.Clone(o.env))
}

func (o *outageTest) claim(tb testing.TB, user int64) response {
	tb.Helper()
	return o.post(tb, "/coupons/"+o.coupon+"/orders", tokenFor(tb, user, auth.RoleUser), "")
}

// wantUnavailable checks that, without one of its servers, the instance replies
// to claims with 503 in time, names the server in /readyz, and stays alive. One late
// reply may be the machine's; a second one is not.
func (o *outageTest) wantUnavailable(tb testing.TB, name string) {
	tb.Helper()
	const deadline = 3 * time.Second // CLAIM_TIMEOUT's default
	r := o.claim(tb, 1)
	if r.status != 503 || r.body["code"] != "unavailable" || r.header.Get("Retry-After") == "" {
		tb.Errorf("claim: %+v", r)
	}
	if again := o.claim(tb, 1); min(r.took, again.took) > deadline+200*time.Millisecond {
		tb.Errorf("claims took %s and %s, want at most %s", r.took, again.took, deadline)
	}
	r = o.get(tb, "/readyz", "")
	if checks, _ := r.body["checks"].(map[string]any); r.status != 503 || checks[name] != "unavailable" {
		tb.Errorf("readyz: %+v", r)
	}
	if r := o.get(tb, "/livez", ""); r.status != 200 {
		tb.Errorf("livez: %+v", r)
	}
}

// wantRecovered waits until claims succeed again without intervention.
func (o *outageTest) wantRecovered(tb testing.TB) {
	tb.Helper()
	user := int64(100)
	eventually(tb, func() bool {
		user++
		return o.claim(tb, user).status == 201
	})
	o.ready(tb)
}

func TestServiceRecoversFromOutages(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"redis", "mysql"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := newOutageTest(t)
			s := map[string]server{"redis": o.redis, "mysql": o.mysql}[name]

			s.Kill()
			o.wantUnavailable(t, name)
			check.NoError(t, s.Restart())
			o.wantRecovered(t)

			s.Pause()
			o.wantUnavailable(t, name)
			s.Resume()
			o.wantRecovered(t)

			s.Kill()
			o.restart(t)
			o.waitsFor(t, name)
			check.NoError(t, s.Restart())
			o.listening(t)
			o.wantRecovered(t)
		})
	}
}
