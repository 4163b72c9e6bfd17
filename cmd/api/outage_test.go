package main

import (
	"maps"
	"testing"
	"time"

	"example.com/flashsale/internal/lab/labtest"
)

// server is what the two have in common.
type server interface {
	Kill()
	Restart() error
	Pause()
	Resume()
}

// trouble is a running service with its own servers and a coupon on sale.
type trouble struct {
	*running
	env          map[string]string
	mysql, redis server
	coupon       string
}

func newTrouble(tb testing.TB) *trouble {
	tb.Helper()
	mysql, redis := labtest.MySQL(tb), labtest.Redis(tb)
	tr := &trouble{mysql: mysql, redis: redis}
	tr.env = settings(tb, map[string]string{"MYSQL_DSN": labtest.EmptyDatabase(tb, mysql), "REDIS_URL": redis.URL})
	tr.running = start(tb, tr.env).ready(tb)
	tr.coupon = tr.onSale(tb, 1000)
	return tr
}

// restart ends the service and starts it anew.
func (tr *trouble) restart(tb testing.TB) {
	tb.Helper()
	tr.stop()
	if err := <-tr.done; err != nil {
		tb.Fatal(err)
	}
	tr.running = start(tb, maps.Clone(tr.env))
}

func (tr *trouble) claim(tb testing.TB, user int64) answer {
	tb.Helper()
	return tr.post(tb, "/coupons/"+tr.coupon+"/orders", tokenFor(tb, user, false), "")
}

// wantAway checks what a service without one of its servers must do: answer
// claims with 503 in time, say who is away, and live.
func (tr *trouble) wantAway(tb testing.TB, name string) {
	tb.Helper()
	const deadline = 3 * time.Second // CLAIM_TIMEOUT's default
	a := tr.claim(tb, 1)
	if a.status != 503 || a.body["code"] != "unavailable" || a.header.Get("Retry-After") == "" {
		tb.Errorf("claim: %+v", a)
	}
	if a.took > deadline+200*time.Millisecond {
		tb.Errorf("claim took %s, want at most %s", a.took, deadline)
	}
	a = tr.get(tb, "/readyz", "")
	if checks, _ := a.body["checks"].(map[string]any); a.status != 503 || checks[name] != "away" {
		tb.Errorf("readyz: %+v", a)
	}
	if a := tr.get(tb, "/livez", ""); a.status != 200 {
		tb.Errorf("livez: %+v", a)
	}
}

// wantBack waits until claims succeed again, by themselves.
func (tr *trouble) wantBack(tb testing.TB) {
	tb.Helper()
	user := int64(100)
	eventually(tb, func() bool {
		user++
		return tr.claim(tb, user).status == 201
	})
	tr.ready(tb)
}

func TestOutageEndsByItself(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"redis", "mysql"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tr := newTrouble(t)
			away := map[string]server{"redis": tr.redis, "mysql": tr.mysql}[name]

			away.Kill()
			tr.wantAway(t, name)
			if err := away.Restart(); err != nil {
				t.Fatal(err)
			}
			tr.wantBack(t)

			away.Pause()
			tr.wantAway(t, name)
			away.Resume()
			tr.wantBack(t)

			away.Kill()
			tr.restart(t)
			tr.wantAway(t, name)
			if err := away.Restart(); err != nil {
				t.Fatal(err)
			}
			tr.wantBack(t)
		})
	}
}
