package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"example.com/flashsale/internal/httpapi"
	"example.com/flashsale/internal/lab/labtest"
)

func TestMain(m *testing.M) { labtest.Main(m) }

const secret = "a secret of thirty-two bytes, or more"

// settings are the least that serve needs, with changes on top.
func settings(tb testing.TB, changes map[string]string) map[string]string {
	tb.Helper()
	all := map[string]string{"HTTP_ADDR": "127.0.0.1:0", "INSTANCE": "a", "JWT_SECRET": secret, "LOG_LEVEL": "debug"}
	for name, value := range changes {
		all[name] = value
	}
	if all["MYSQL_DSN"] == "" {
		all["MYSQL_DSN"] = labtest.EmptyDatabase(tb, sharedMySQL(tb))
	}
	if all["REDIS_URL"] == "" {
		all["REDIS_URL"] = labtest.Redis(tb).URL
	}
	return all
}

// running is a service in this process.
type running struct {
	url  string
	log  *logbook
	stop context.CancelFunc
	done chan error
}

// start runs the program with env until it listens.
func start(tb testing.TB, env map[string]string) *running {
	tb.Helper()
	ctx, stop := context.WithCancel(context.Background())
	r := &running{log: new(logbook), stop: stop, done: make(chan error, 1)}
	go func() {
		r.done <- run(ctx, nil, func(name string) string { return env[name] }, io.Discard, r.log)
		close(r.done)
	}()
	tb.Cleanup(func() {
		stop()
		for err := range r.done {
			if err != nil {
				tb.Errorf("run: %v", err)
			}
		}
		if tb.Failed() {
			tb.Logf("log:\n%s", r.log)
		}
	})
	eventually(tb, func() bool {
		r.url = "http://" + r.log.find("listening", "address")
		return r.url != "http://"
	})
	return r
}

// ready waits until the service says so.
func (r *running) ready(tb testing.TB) *running {
	tb.Helper()
	eventually(tb, func() bool { return r.get(tb, "/readyz", "").status == 200 })
	return r
}

// eventually polls until ok, or fails the test.
func eventually(tb testing.TB, ok func() bool) {
	tb.Helper()
	for deadline := time.Now().Add(20 * time.Second); !ok(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			tb.Error("waited 20 s in vain") // not Fatal: goroutines wait too
			return
		}
	}
}

// answer is what came back, with the body as a JSON object if it was one.
type answer struct {
	status int
	header http.Header
	text   string
	body   map[string]any
	took   time.Duration
}

func (r *running) get(tb testing.TB, path, token string) answer {
	tb.Helper()
	return r.do(tb, "GET", path, token, "")
}

func (r *running) post(tb testing.TB, path, token, body string) answer {
	tb.Helper()
	return r.do(tb, "POST", path, token, body)
}

func (r *running) do(tb testing.TB, method, path, token, body string) answer {
	tb.Helper()
	req, err := http.NewRequest(method, r.url+path, strings.NewReader(body))
	if err != nil {
		tb.Fatal(err)
	}
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	begun := time.Now()
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		tb.Error(err) // not Fatal: goroutines come here too
		return answer{}
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		tb.Fatal(err)
	}
	a := answer{status: resp.StatusCode, header: resp.Header, text: string(text), took: time.Since(begun)}
	_ = json.Unmarshal(text, &a.body)
	return a
}

func tokenFor(tb testing.TB, user int64, admin bool) string {
	tb.Helper()
	t, err := httpapi.Mint([]byte(secret), user, admin, time.Hour)
	if err != nil {
		tb.Fatal(err)
	}
	return t
}

// onSale makes a coupon that is on sale now and returns its id.
func (r *running) onSale(tb testing.TB, stock int) string {
	tb.Helper()
	a := r.post(tb, "/coupons", tokenFor(tb, 1, true), fmt.Sprintf(
		`{"name":"100 off","begin_time":"2020-01-01T00:00:00Z","end_time":"2090-01-01T00:00:00Z","stock":%d}`, stock))
	if a.status != 201 {
		tb.Fatalf("create coupon: %d %s", a.status, a.text)
	}
	return a.body["id"].(string)
}

// logbook is a log that can be read while it is written.
type logbook struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *logbook) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *logbook) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// find is a key of the first entry with this message.
func (l *logbook) find(message, key string) string {
	for line := range strings.Lines(l.String()) {
		var entry map[string]any
		if json.Unmarshal([]byte(line), &entry) == nil && entry["msg"] == message {
			return fmt.Sprint(entry[key])
		}
	}
	return ""
}
