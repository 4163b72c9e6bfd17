package main

import (
	"log/slog"
	"slices"
	"testing"
	"testing/synctest"

	"example.com/flashsale/internal/check"
	"example.com/flashsale/internal/settings"
)

var discard = slog.New(slog.DiscardHandler)

// unreachable returns valid settings of servers that do not exist. Open does not
// connect, so it succeeds with them.
func unreachable(t *testing.T) settings.Settings {
	t.Helper()
	cfg, err := settings.From(from(map[string]string{
		"MYSQL_DSN": "root@tcp(127.0.0.1:1)/x", "REDIS_URL": "redis://127.0.0.1:1", "JWT_SECRET": secret,
		"LAB":          "true",
		"REDLOCK_URLS": "redis://127.0.0.1:1", "ETCD_ADDR": "127.0.0.1:1", "MEMCACHE_ADDR": "127.0.0.1:1",
		"ZK_ADDR": "127.0.0.1:1",
	}))
	check.NoError(t, err)
	return cfg
}

// The settings are as if their check had been forgotten. Each pool has a
// goroutine, and synctest fails a test that leaves a goroutine behind.
func TestOpenClosesEverythingWhenAPartFails(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*settings.Settings){
		"pools": func(c *settings.Settings) { c.RedisURL = "unknown" },
		"lock":  func(c *settings.Settings) { c.Lock = "unknown" },
		"redlock": func(c *settings.Settings) {
			c.Lock, c.RedlockURLs = "redlock", []string{"redis://127.0.0.1:1", "unknown"}
		},
		"commit": func(c *settings.Settings) { c.Lock, c.Commit = "mysql", "unknown" },
		"scope":  func(c *settings.Settings) { c.Lock, c.LockScope = "getlock", "unknown" },
		"lab": func(c *settings.Settings) {
			c.Lock, c.RedlockURLs = "mysql", []string{"redis://127.0.0.1:1", "unknown"}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cfg := unreachable(t)
			change(&cfg)
			synctest.Test(t, func(t *testing.T) {
				if _, err := open(cfg, discard); err == nil {
					t.Error("no error")
				}
			})
		})
	}
}

func TestOpenedClosesTheLastOpenedFirst(t *testing.T) {
	t.Parallel()
	var closed []int
	c := new(opened)
	for i := range 3 {
		c.add(func() { closed = append(closed, i) })
	}
	c.close()
	c.close()
	if want := []int{2, 1, 0}; !slices.Equal(closed, want) {
		t.Errorf("closed %v, want %v", closed, want)
	}
}
