package rig

import (
	"fmt"
	"testing"

	"example.com/flashsale/internal/check"
	"example.com/flashsale/internal/lab"
	"example.com/flashsale/internal/lab/labtest"
)

func TestMain(m *testing.M) {
	labtest.Main(m, lab.MySQLServer, lab.RedisServer, lab.NginxServer, lab.MemcachedServer, lab.EtcdServer,
		lab.ZooKeeperServer)
}

var stack = labtest.Shares(func(l *lab.Lab) (*Stack, error) { return StartIn(l) })

// newSale returns a sale on the stack that all tests share.
func newSale(t *testing.T, settings ...string) *Sale {
	t.Helper()
	sale, err := stack(t).NewSale(t.Context(), settings...)
	check.NoError(t, err)
	return sale
}

func TestUserIDsAreAllDifferent(t *testing.T) {
	t.Parallel()
	seen := map[int64]bool{}
	for i := range 10_000 {
		u := UserID(i)
		if seen[u] || len(fmt.Sprint(u)) != 10 {
			t.Fatalf("user %d: %d", i, u)
		}
		seen[u] = true
	}
}
