package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"example.com/flashsale/internal/auth"
	"example.com/flashsale/internal/check"
	"example.com/flashsale/internal/lab"
	"example.com/flashsale/internal/lab/labtest"
)

func TestMain(m *testing.M) {
	labtest.Main(m, lab.MySQLServer, lab.RedisServer, lab.NginxServer, lab.MemcachedServer,
		lab.EtcdServer, lab.ZooKeeperServer, lab.PrometheusServer, lab.OpenSSL)
}

const secret = "a secret of thirty-two bytes, or more"

var signer = auth.Signer{Secret: auth.Secret{Key: []byte(secret)}}

// environ returns the settings that serve requires, overridden by changes. It
// starts the servers that changes does not name.
func environ(tb testing.TB, changes map[string]string) map[string]string {
	tb.Helper()
	all := map[string]string{"HTTP_ADDR": "127.0.0.1:0", "INSTANCE": "a", "JWT_SECRET": secret, "LOG_LEVEL": "debug"}
	maps.Copy(all, changes)
	if all["MYSQL_DSN"] == "" {
		all["MYSQL_DSN"] = labtest.DSN(tb)
	}
	if all["REDIS_URL"] == "" {
		all["REDIS_URL"] = labtest.Redis(tb).URL
	}
	return all
}

// An instance is a service that runs in the test process.
type instance struct {
	url  string
	log  *labtest.Log
	stop context.CancelFunc
	done chan error
}

// start runs the command serve with env and returns once it listens, which it does when
// it is ready. The instance stops at the end of the test.
func start(tb testing.TB, env map[string]string) *instance {
	tb.Helper()
	return begin(tb, env).listening(tb)
}

// begin is start without the wait.
func begin(tb testing.TB, env map[string]string) *instance {
	tb.Helper()
	ctx, stop := context.WithCancel(context.Background())
	i := &instance{log: new(labtest.Log), stop: stop, done: make(chan error, 1)}
	go func() {
		i.done <- run(ctx, nil, func(name string) string { return env[name] }, io.Discard, i.log)
		close(i.done)
	}()
	tb.Cleanup(func() {
		stop()
		for err := range i.done {
			if err != nil {
				tb.Errorf("run: %v", err)
			}
		}
		if tb.Failed() {
			tb.Logf("log:\n%s", i.log)
		}
	})
	return i
}

// end stops the instance, and waits until it has ended.
func (i *instance) end(tb testing.TB) {
	tb.Helper()
	i.stop()
	check.NoError(tb, <-i.done)
}

// listening waits until the instance listens.
func (i *instance) listening(tb testing.TB) *instance {
	tb.Helper()
	eventually(tb, func() bool {
		i.url = "http://" + i.log.Find("listening", "address")
		return i.url != "http://"
	})
	return i
}

// waitsFor checks that the instance does not listen, and says what it waits for.
func (i *instance) waitsFor(tb testing.TB, name string) {
	tb.Helper()
	eventually(tb, func() bool {
		return i.log.Says("dependency unavailable", "dependency", name) ||
			name == "mysql" && i.log.Find("waiting for MySQL", "error") != ""
	})
	if address := i.log.Find("listening", "address"); address != "" {
		tb.Errorf("it listens at %s", address)
	}
}

// ready waits until the instance is ready.
func (i *instance) ready(tb testing.TB) *instance {
	tb.Helper()
	eventually(tb, func() bool { return i.get(tb, "/readyz", "").status == 200 })
	return i
}

// eventually polls ok until it returns true, and fails the test after a minute.
func eventually(tb testing.TB, ok func() bool) {
	tb.Helper()
	for deadline := time.Now().Add(time.Minute); !ok(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			tb.Error("condition not met within a minute") // not Fatal, which only the test's own goroutine may call
			return
		}
	}
}

// A response holds one HTTP response. body is nil unless it is a JSON object.
type response struct {
	status int
	header http.Header
	text   string
	body   map[string]any
	took   time.Duration
}

func wantStatus(tb testing.TB, r response, status int) {
	tb.Helper()
	if r.status != status {
		tb.Errorf("got %+v, want %d", r, status)
	}
}

func (i *instance) get(tb testing.TB, path, token string) response {
	tb.Helper()
	return i.do(tb, "GET", path, token, "")
}

func (i *instance) post(tb testing.TB, path, token, body string) response {
	tb.Helper()
	return i.do(tb, "POST", path, token, body)
}

// eventuallyPost is post, repeated while the service is unavailable, as it is when
// the machine is too busy for its time-outs.
func (i *instance) eventuallyPost(tb testing.TB, path, token, body string) (r response) {
	tb.Helper()
	eventually(tb, func() bool {
		r = i.post(tb, path, token, body)
		return r.status != http.StatusServiceUnavailable
	})
	return r
}

// do sends a request, with headers by name and value.
func (i *instance) do(tb testing.TB, method, path, token, body string, headers ...string) response {
	tb.Helper()
	req, err := http.NewRequest(method, i.url+path, strings.NewReader(body))
	check.NoError(tb, err)
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	for pair := range slices.Chunk(headers, 2) {
		req.Header.Set(pair[0], pair[1])
	}
	start := time.Now()
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		tb.Error(err) // not Fatal, which only the test's own goroutine may call
		return response{}
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	check.NoError(tb, err)
	r := response{status: resp.StatusCode, header: resp.Header, text: string(text), took: time.Since(start)}
	_ = json.Unmarshal(text, &r.body)
	return r
}

// behindNginx starts nginx before instances, and returns it as an instance.
func behindNginx(t *testing.T, addresses ...string) *instance {
	t.Helper()
	nginx, err := lab.StartNginx(labtest.Lab(t), "../../deploy/nginx", addresses...)
	check.NoError(t, err)
	t.Cleanup(nginx.Kill)
	return &instance{url: nginx.URL}
}

func (i *instance) address() string { return strings.TrimPrefix(i.url, "http://") }

func tokenFor(tb testing.TB, user int64, role auth.Role) string {
	tb.Helper()
	t, err := signer.Sign(auth.Identity{UserID: user, Role: role}, time.Hour)
	check.NoError(tb, err)
	return t
}

// createCoupon creates a coupon that is on sale now and returns its id.
func (i *instance) createCoupon(tb testing.TB, stock int) string {
	tb.Helper()
	body := fmt.Sprintf(
		`{"name":"100 off","begin_time":"2020-01-01T00:00:00Z","end_time":"2090-01-01T00:00:00Z","stock":%d}`, stock)
	r := i.eventuallyPost(tb, "/coupons", tokenFor(tb, 1, auth.RoleAdmin), body)
	if r.status != 201 {
		tb.Fatalf("create coupon: %d %s", r.status, r.text)
	}
	return r.body["id"].(string)
}
