package connect_test

import (
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"example.com/flashsale/internal/connect"
	"example.com/flashsale/internal/lab/labtest"
)

func TestEveryTopologyHasThePasswordTLSAndALifetime(t *testing.T) {
	t.Parallel()
	for _, url := range []string{
		"rediss://user:secret@localhost:1",
		"rediss+sentinel://localhost:1?master_name=m&username=user&password=secret",
		"rediss+cluster://user:secret@localhost:1",
	} {
		rdb := labtest.DialURL(t, url)
		var got redis.Options
		switch rdb := rdb.(type) {
		case *redis.Client:
			got = *rdb.Options()
		case *redis.ClusterClient:
			o := rdb.Options()
			got = redis.Options{Username: o.Username, Password: o.Password, TLSConfig: o.TLSConfig,
				ConnMaxLifetime: o.ConnMaxLifetime}
		}
		if got.Username != "user" || got.Password != "secret" || got.TLSConfig == nil {
			t.Errorf("%s: user %q, password %q, TLS %v", url, got.Username, got.Password, got.TLSConfig != nil)
		}
		if got.ConnMaxLifetime <= 0 {
			t.Errorf("%s: a probe that has a connection would not notice that the server gives no other", url)
		}
	}
}

func TestBadRedisURLIsAnErrorWithoutThePassword(t *testing.T) {
	t.Parallel()
	for _, url := range []string{
		"", "redis", "http://user:hunter2@host", "redis+ring://user:hunter2@host:1",
		"redis+sentinel://user:hunter2@host:1", "redis+sentinel://user:hunter2@host:1?master_name=m&nonsense=1",
		"redis+cluster://user:hunter2@host:1?nonsense=1", "unix+cluster:///path?password=hunter2",
		"redis://user:hunter2@host:1/x", "redis://user:1#hunter2@host:1",
		"redis://:hunter2@[::1",
		// go-redis takes the database 0
		"redis://host:1/-1", "unix:///path?db=-1", "redis+sentinel://host:1/-1?master_name=m",
	} {
		rdb, err := connect.Redis(url, 1)
		if err == nil {
			_ = rdb.Close()
			t.Errorf("%s is accepted", url)
		} else if strings.Contains(err.Error(), "hunter2") {
			t.Errorf("the error quotes a password: %v", err)
		}
	}
}

func TestRedisServerTellsServersApart(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		a, b string
		same bool
	}{
		{"redis://a", "redis://user:password@A:6379/3", true},
		{"redis://a", "redis://b", false},
		{"redis://a:1", "redis://a:2", false},
		{"unix:///run/a", "unix://user:password@/run/a?db=1", true},
		{"unix:///run/a", "unix:///run/b", false},
		{"redis+sentinel://a:1?master_name=x&addr=b:1", "redis+sentinel://b:1?master_name=x&addr=a:1", true},
		{"redis+sentinel://a:1?master_name=x", "redis+sentinel://a:1?master_name=y", false},
	} {
		if got := connect.RedisServer(test.a) == connect.RedisServer(test.b); got != test.same {
			t.Errorf("%s and %s: same server %t, want %t", test.a, test.b, got, test.same)
		}
	}
}

// cmd/api tests a certificate that is sent.
func TestClientCertificateThatCannotBeSentIsRefused(t *testing.T) {
	t.Parallel()
	for _, url := range []string{
		"redis://h:6379?client_cert=c&client_key=k", // not by TLS
		"rediss://h:6379?client_cert=/missing&client_key=/missing",
		"rediss+sentinel://h:6379?master_name=m&client_cert=/missing&client_key=/missing",
		"rediss+cluster://h:6379?client_key=/missing",
	} {
		if _, err := connect.Redis(url, 1); err == nil {
			t.Errorf("%s is accepted", url)
		}
	}
}
