package main

import (
	"fmt"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"example.com/flashsale/internal/check"
	"example.com/flashsale/internal/lab"
	"example.com/flashsale/internal/lab/labtest"
)

// startTLSRedis starts a Redis that accepts the user sale only, by TLS with a
// certificate of the authority in dir, which has only its own. It returns the URL with that.
func startTLSRedis(t *testing.T, dir string) string {
	t.Helper()
	l := labtest.Lab(t)
	var port int
	r, err := lab.WithFreePort(func(p int) (*lab.Redis, error) {
		port = p
		return lab.StartRedis(l, "--tls-port", fmt.Sprint(p), "--tls-auth-clients", "yes", "--tls-ca-cert-file",
			dir+"/cert.pem",
			"--tls-cert-file", dir+"/cert.pem", "--tls-key-file", dir+"/key.pem",
			"--user", "sale", "on", ">password", "~*", "&*", "+@all")
	})
	check.NoError(t, err)
	t.Cleanup(r.Kill)
	rdb := redis.NewClient(&redis.Options{Network: "unix", Addr: r.URL[len("unix://"):]})
	defer rdb.Close()
	check.NoError(t, rdb.Do(t.Context(), "ACL", "SETUSER", "default", "off").Err())
	const url = "rediss://sale:password@127.0.0.1:%d/0?client_cert=%[2]s/cert.pem&client_key=%[2]s/key.pem"
	return fmt.Sprintf(url, port, dir)
}

// startTLSMySQL starts a server that accepts the user sale by TLS only, and returns
// the DSN of an empty database.
func startTLSMySQL(t *testing.T, dir string) string {
	t.Helper()
	m, err := lab.StartMySQLTCP(labtest.Lab(t), "--ssl-ca="+dir+"/cert.pem", "--ssl-cert="+dir+"/cert.pem",
		"--ssl-key="+dir+"/key.pem")
	check.NoError(t, err)
	t.Cleanup(m.Kill)
	root, err := m.Create(t.Context(), "sale")
	check.NoError(t, err)
	db := labtest.Open(t, root)
	for _, host := range []string{"%", "localhost"} {
		db.MustExec("CREATE USER 'sale'@'" + host + "' IDENTIFIED BY 'password' REQUIRE SSL")
		db.MustExec("GRANT ALL ON sale.* TO 'sale'@'" + host + "'")
	}
	return "sale:password@tcp(" + m.Address + ")/sale"
}

func TestServersAreReachedByTLS(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	labtest.Certificate(t, dir+"/cert.pem", dir+"/key.pem")
	redisURL := startTLSRedis(t, dir)
	i, err := lab.StartAPI(labtest.Lab(t), labtest.API(t), "tls", "MYSQL_DSN="+startTLSMySQL(t, dir)+"?tls=true",
		"REDIS_URL="+redisURL, "JWT_SECRET="+secret, "SSL_CERT_FILE="+dir+"/cert.pem")
	check.NoError(t, err) // it is not ready
	t.Cleanup(i.Kill)
}

// By TLS, go-redis does not see that a connection was closed, and repeats a command once.
func TestIdleConnectionsThatRedisHasClosedAreNotUsed(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	labtest.Certificate(t, dir+"/cert.pem", dir+"/key.pem")
	url := startTLSRedis(t, dir) + "&skip_verify=true"
	rdb, admin := labtest.DialURL(t, url), labtest.DialURL(t, url)
	check.NoError(t, admin.ConfigSet(t.Context(), "timeout", "5").Err())
	clients := func() int { return strings.Count(admin.ClientList(t.Context()).Val(), "\n") }
	var idle []*redis.Conn
	for range 4 {
		idle = append(idle, rdb.(*redis.Client).Conn())
		check.NoError(t, idle[len(idle)-1].Ping(t.Context()).Err())
	}
	for _, conn := range idle {
		check.NoError(t, conn.Close())
	}
	if n := clients(); n != 5 {
		t.Errorf("%d connections, want 5", n)
	}
	check.Eventually(t, "Redis has closed the idle connections", func() bool { return clients() == 1 })
	check.NoError(t, rdb.Ping(t.Context()).Err())
}
