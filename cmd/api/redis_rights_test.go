package main

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"example.com/flashsale/internal/auth"
	"example.com/flashsale/internal/check"
	"example.com/flashsale/internal/lab/labtest"
)

// redisUser makes a user by a command of ACL SETUSER, and returns the URL for it and a
// client that may do everything.
func redisUser(t *testing.T, command string) (url string, admin redis.UniversalClient) {
	t.Helper()
	server := labtest.Redis(t)
	admin = labtest.Dial(t, server)
	mustDo(t, admin, command)
	return strings.Replace(server.URL, "unix://", "unix://flashsale:PASSWORD@", 1), admin
}

func mustDo(t *testing.T, rdb redis.UniversalClient, command string) {
	t.Helper()
	var args []any
	for field := range strings.FieldsSeq(strings.ReplaceAll(command, "'", "")) {
		args = append(args, field)
	}
	if err := rdb.Do(t.Context(), args...).Err(); err != nil {
		t.Fatalf("%s: %v", command, err)
	}
}

// documentedUser returns the command of docs/install.md.
func documentedUser(t *testing.T) string {
	t.Helper()
	return regexp.MustCompile(`ACL SETUSER flashsale .*`).FindString(readFile(t, "../../docs/install.md"))
}

func TestSaleNeedsNoMoreRightsThanDocumented(t *testing.T) {
	t.Parallel()
	for _, lock := range []string{"redis", "redisson", "redlock"} {
		t.Run(lock, func(t *testing.T) {
			t.Parallel()
			url, admin := redisUser(t, documentedUser(t))
			env := map[string]string{"REDIS_URL": url, "LOCK": lock}
			if lock == "redlock" {
				env["REDLOCK_URLS"] = url
			}
			i := start(t, environ(t, env)).ready(t)
			const stock, users = 20, 40
			path, sold := "/coupons/"+i.createCoupon(t, stock)+"/orders", 0
			for user := range int64(users) {
				switch r := i.post(t, path, tokenFor(t, user+1, auth.RoleUser), ""); r.status {
				case 201:
					sold++
				case 409:
				default:
					t.Errorf("claim: %+v", r)
				}
			}
			if sold != stock {
				t.Errorf("%d sold, want %d", sold, stock)
			}
			eventually(t, func() bool { return len(admin.Keys(t.Context(), "*redis_lock:userId:*").Val()) == 0 })
		})
	}
}

func TestReadyzNamesWhatRedisRefuses(t *testing.T) {
	t.Parallel()
	url, admin := redisUser(t, documentedUser(t))
	i := start(t, environ(t, map[string]string{"REDIS_URL": url})).ready(t)
	const user = "ACL SETUSER flashsale "
	today := time.Now().UTC().Format("2006:01:02")
	for name, c := range map[string]struct{ refuse, allow, says string }{
		"full":        {"CONFIG SET maxmemory 1", "CONFIG SET maxmemory 0", "raise maxmemory"},
		"read-only":   {"REPLICAOF 127.0.0.1 1", "REPLICAOF NO ONE", "READONLY"},
		"no replicas": {"CONFIG SET min-replicas-to-write 1", "CONFIG SET min-replicas-to-write 0", "NOREPLICAS"},
		"paused":      {"CLIENT PAUSE 60000 WRITE", "CLIENT UNPAUSE", "deadline exceeded"},
		"no scripts":  {user + "-eval -evalsha", user + "+eval +evalsha", "ACL SETUSER"},
		"no TIME":     {user + "-time", user + "+time", "ACL SETUSER"},
		"no GET":      {user + "-get", user + "+get", "ACL SETUSER"},
		"no DEL":      {user + "-del", user + "+del", "ACL SETUSER"},
		"no PEXPIRE":  {user + "-pexpire", user + "+pexpire", "ACL SETUSER"},
		"no ids": {user + "resetkeys ~flashsale:redis_lock:*", user + "~flashsale:*",
			"ACL SETUSER"},
		"no locks": {user + "resetkeys ~flashsale:icr:*", user + "~flashsale:*", "ACL SETUSER"},
		"neighbour": {"SET flashsale:icr:order:" + today + " 7", "DEL flashsale:icr:order:" + today,
			"set REDIS_PREFIX: idgen: flashsale:icr:order:" + today},
	} {
		t.Run(name, func(t *testing.T) {
			before := strings.Count(i.log.String(), c.says)
			mustDo(t, admin, c.refuse)
			eventually(t, func() bool { return i.get(t, "/readyz", "").status == 503 })
			for range 3 {
				wantStatus(t, i.get(t, "/readyz", ""), 503)
			}
			if strings.Count(i.log.String(), c.says) == before {
				t.Errorf("the log does not say %q: %s", c.says, i.log)
			}
			mustDo(t, admin, c.allow)
			i.ready(t)
		})
	}
}

// The keys that the node of a cluster does not have are most.
func TestURLOfAnotherTopologyIsExplained(t *testing.T) {
	t.Parallel()
	node, _, _ := strings.Cut(labtest.SharedCluster(t).URL, "?")
	sentinels := labtest.Topology(t, "sentinel").URL
	sentinel, _, _ := strings.Cut(sentinels, "?")
	for url, says := range map[string]string{
		strings.Replace(node, "redis+cluster", "redis", 1):       "let REDIS_URL begin with redis+cluster",
		strings.Replace(node, "redis+cluster", "rediss", 1):      "it may not speak TLS",
		strings.Replace(sentinel, "redis+sentinel", "redis", 1):  "let REDIS_URL begin with redis+sentinel",
		strings.Replace(sentinels, "name=main", "name=other", 1): "no such master_name",
	} {
		wantExplained(t, url, says)
	}
}

// wantExplained checks what the probe says of the Redis at url.
func wantExplained(t *testing.T, url, says string) {
	t.Helper()
	p := newRedisProbe(unreachable(t), labtest.DialURL(t, url), discard)
	check.Eventually(t, says, func() bool {
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		defer cancel()
		return strings.Contains(fmt.Sprint(p.check(ctx)), says)
	})
}

// A cluster behind a proxy may be set to name no addresses, or host names that it does not have.
func TestClusterThatNamesNoAddressesIsExplained(t *testing.T) {
	t.Parallel()
	cluster := labtest.Topology(t, "cluster")
	for _, endpoint := range []string{"unknown-endpoint", "hostname"} {
		for _, node := range cluster.Nodes {
			mustDo(t, labtest.Dial(t, node), "CONFIG SET cluster-preferred-endpoint-type "+endpoint)
		}
		wantExplained(t, cluster.URL, "cluster-preferred-endpoint-type")
	}
}

// Redis before 7 knows no SET with both NX and GET; a command may be renamed.
func TestWhatRedisDoesNotKnowIsExplained(t *testing.T) {
	t.Parallel()
	rdb := labtest.Dial(t, labtest.Redis(t))
	for script, says := range map[string]string{
		`return redis.error_reply("ERR syntax error")`: "Redis 7", `return redis.call("RENAMED")`: "rename-command",
	} {
		err := explained(redis.NewScript(script).Run(t.Context(), rdb, nil).Err())
		if !strings.Contains(fmt.Sprint(err), says) {
			t.Errorf("%s: %v, want %s", script, err, says)
		}
	}
	if err := explained(rdb.Do(t.Context(), "RENAMED").Err()); !strings.Contains(fmt.Sprint(err), "rename-command") {
		t.Error(err)
	}
}

// The sale goes on without the right to publish, and what waits is published with it.
func TestEventsWaitForTheRightToPublish(t *testing.T) {
	t.Parallel()
	url, admin := redisUser(t, documentedUser(t))
	mustDo(t, admin, "ACL SETUSER flashsale -xadd")
	i := start(t, environ(t, map[string]string{"REDIS_URL": url, "EVENTS": "true"})).ready(t)
	path := "/coupons/" + i.createCoupon(t, 1) + "/orders"
	wantStatus(t, i.post(t, path, tokenFor(t, 1, auth.RoleUser), ""), 201)
	eventually(t, func() bool { return strings.Contains(i.log.String(), "ACL SETUSER") })
	for _, metric := range []string{"failures_total 0", "oldest_seconds 0"} {
		if metrics := i.get(t, "/metrics", "").text; strings.Contains(metrics, "\nflashsale_events_"+metric+"\n") {
			t.Errorf("the metrics have %s", metric)
		}
	}
	mustDo(t, admin, "ACL SETUSER flashsale +xadd")
	eventually(t, func() bool {
		return strings.Contains(i.get(t, "/metrics", "").text, "\nflashsale_events_published_total 1\n")
	})
	if n := admin.XLen(t.Context(), "flashsale:events").Val(); n != 1 {
		t.Errorf("the stream has %d events", n)
	}
}

// The articles' own worker counts in a string.
func TestNeighboursInRedisDisturbNobody(t *testing.T) {
	t.Parallel()
	env := environ(t, nil)
	rdb := labtest.DialURL(t, env["REDIS_URL"])
	key := "icr:order:" + time.Now().UTC().Format("2006:01:02")
	for n := range 2 {
		if got, err := rdb.Incr(t.Context(), key).Result(); err != nil || got != int64(n+1) {
			t.Errorf("INCR %s: %d, %v", key, got, err)
		}
		mustDo(t, rdb, "HSET redis_lock:userId:"+strconv.Itoa(n+1)+" someone 1")
		i := start(t, maps.Clone(env)).ready(t)
		path := "/coupons/" + i.createCoupon(t, 1) + "/orders"
		wantStatus(t, i.post(t, path, tokenFor(t, int64(n+1), auth.RoleUser), ""), 201)
	}
}

// The server is asked until it has replied.
func TestEvictionIsWarnedOfOnce(t *testing.T) {
	t.Parallel()
	url, admin := redisUser(t, documentedUser(t))
	mustDo(t, admin, "CONFIG SET maxmemory-policy volatile-lru")
	log := new(labtest.Log)
	p := newRedisProbe(unreachable(t), labtest.DialURL(t, url), slog.New(slog.NewJSONHandler(log, nil)))
	for range 3 {
		check.NoError(t, p.check(t.Context()))
	}
	stats, err := admin.Info(t.Context(), "commandstats").Result()
	check.NoError(t, err)
	if n := strings.Count(log.String(), "maxmemory-policy noeviction"); n != 1 ||
		!strings.Contains(stats, "cmdstat_info:calls=1,") {
		t.Errorf("%d warnings: %s", n, stats)
	}
}
