package main

import (
	"regexp"
	"slices"
	"strings"

	"example.com/flashsale/internal/connect"
)

// The forms of addresses.
const (
	hostPort = `([\w.-]+|\[[0-9a-fA-F:.]+\]):[0-9]{1,5}`
	path     = `/[^,\s]+`
)

// checkLock returns the rules that the settings of the lock's servers break. It
// quotes no value, because it may hold a password.
func (c config) checkLock() []settingError {
	var broken []settingError
	require := func(ok bool, name, rule string) {
		if !ok {
			broken = append(broken, settingError{name, rule})
		}
	}
	require(slices.Contains(locks, c.Lock), "LOCK", "must be one of "+strings.Join(locks, ", "))
	require(c.Lock != "zk" && c.ZKAddr == "" || isList(c.ZKAddr, hostPort), "ZK_ADDR",
		"must be host:port for LOCK=zk, several separated by commas")
	require(c.Lock != "etcd" && c.EtcdAddr == "" || isList(c.EtcdAddr, "(https?://)?"+hostPort, "unix://"+path),
		"ETCD_ADDR", "must be host:port for LOCK=etcd, several separated by commas, without a user and a password")
	require(c.Lock != "memcache" && c.MemcacheAddr == "" || isList(c.MemcacheAddr, hostPort, path), "MEMCACHE_ADDR",
		"must be host:port or /path for LOCK=memcache, several separated by commas")
	return append(broken, c.checkRedlock()...)
}

// checkRedlock returns the first rule that REDLOCK_URLS breaks.
func (c config) checkRedlock() []settingError {
	var servers []string
	for _, url := range c.RedlockURLs {
		if !canOpen(connect.Redis(url, 1)) {
			return []settingError{{"REDLOCK_URLS",
				"must have URLs like redis://user:password@host:6379/0, separated by commas"}}
		}
		servers = append(servers, connect.RedisServer(url))
	}
	slices.Sort(servers)
	switch {
	case len(slices.Compact(slices.Clone(servers))) < len(servers):
		return []settingError{{"REDLOCK_URLS", "must lead to different servers"}}
	case c.Lock == "redlock" && len(servers)%2 == 0:
		return []settingError{{"REDLOCK_URLS", "must have an odd number of URLs for LOCK=redlock"}}
	}
	return nil
}

// isList reports whether each part of list, which commas separate, has one of the
// forms.
func isList(list string, forms ...string) bool {
	form := `(` + strings.Join(forms, `|`) + `)`
	return regexp.MustCompile(`^` + form + `(,` + form + `)*$`).MatchString(list)
}
