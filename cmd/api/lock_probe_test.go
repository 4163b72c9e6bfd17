package main

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"example.com/flashsale/internal/check"
	"example.com/flashsale/internal/lab/labtest"
	"example.com/flashsale/internal/lock"
)

// The instance waits at the start, because the server may come later.
func TestReadyzKnowsTheLocksOwnServer(t *testing.T) {
	t.Parallel()
	for name, open := range map[string]func(*testing.T) (s server, setting, address string){
		"zk": func(t *testing.T) (server, string, string) {
			s := labtest.ZooKeeper(t)
			return s, "ZK_ADDR", s.Address
		},
		"etcd": func(t *testing.T) (server, string, string) {
			s := labtest.Etcd(t)
			return s, "ETCD_ADDR", s.Address
		},
		"memcache": func(t *testing.T) (server, string, string) {
			s := labtest.Memcached(t)
			return s, "MEMCACHE_ADDR", s.Address
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, setting, address := open(t)
			s.Kill()
			i := begin(t, environ(t, map[string]string{"LOCK": name, setting: address}))
			i.waitsFor(t, name)
			check.NoError(t, s.Restart())
			i.listening(t).ready(t)
			s.Kill()
			i.wantUnavailable(t, name)
			check.NoError(t, s.Restart())
			i.ready(t)
		})
	}
}

func TestLockThatExcludesNobodyFailsItsProbe(t *testing.T) {
	t.Parallel()
	if err := tryLock(t.Context(), lock.None(), "key"); !errors.Is(err, errTwoHolders) {
		t.Errorf("got %v, want %v", err, errTwoHolders)
	}
}

func TestReadyzNeedsAMajorityOfRedlock(t *testing.T) {
	t.Parallel()
	a, b, c := labtest.Redis(t), labtest.Redis(t), labtest.Redis(t)
	urls := strings.Join([]string{a.URL, b.URL, c.URL}, ",")
	a.Kill()
	i := start(t, environ(t, map[string]string{"LOCK": "redlock", "REDLOCK_URLS": urls})).ready(t)
	b.Kill()
	i.wantUnavailable(t, "redlock")
	check.NoError(t, a.Restart())
	i.ready(t)
}

// The lab's servers grant sessions of a minute at most, and the session of an
// instance that died would end before its LOCK_TTL.
func TestSessionTimeoutBelowTheTTLIsNotReady(t *testing.T) {
	t.Parallel()
	env := map[string]string{"LOCK": "zk", "ZK_ADDR": labtest.SharedZooKeeper(t).Address, "LOCK_TTL": "61s"}
	begin(t, environ(t, env)).waitsFor(t, "zk")
}

// Another program keeps the locks' directory for itself.
func TestZooKeeperThatRefusesLocksIsNotReady(t *testing.T) {
	t.Parallel()
	server := labtest.ZooKeeper(t)
	conn, _, err := zk.Connect([]string{server.Address}, time.Minute, zk.WithLogInfo(false))
	check.NoError(t, err)
	defer conn.Close()
	_, err = conn.Create("/locks", nil, 0, zk.WorldACL(zk.PermRead))
	check.NoError(t, err)
	begin(t, environ(t, map[string]string{"LOCK": "zk", "ZK_ADDR": server.Address})).waitsFor(t, "zk")
}

// wantUnavailable waits until only the named server keeps the instance from being ready.
func (i *instance) wantUnavailable(tb testing.TB, name string) {
	tb.Helper()
	eventually(tb, func() bool {
		r := i.get(tb, "/readyz", "")
		checks, _ := r.body["checks"].(map[string]any)
		return r.status == 503 && checks[name] == "unavailable" && checks["mysql"] == "ok" && checks["redis"] == "ok"
	})
}
