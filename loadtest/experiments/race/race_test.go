package race

import (
	"encoding/json"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"example.com/flashsale/internal/check"
	"example.com/flashsale/internal/lab"
	"example.com/flashsale/internal/lab/labtest"
	"example.com/flashsale/loadtest/rig"
)

func TestMain(m *testing.M) {
	if err := os.Chdir(filepath.Join("..", "..", "..")); err != nil { // the rig's paths are relative to the root
		panic(err)
	}
	labtest.Main(m, lab.MySQLServer, lab.RedisServer, lab.NginxServer, lab.ZooKeeperServer, lab.EtcdServer,
		lab.MemcachedServer, lab.Chromium)
}

// stack is shared by all tests but those that kill its Redis, and has built bin/api, which all
// instances run.
var stack = labtest.Shares(func(l *lab.Lab) (*rig.Stack, error) {
	if err := labtest.Build(filepath.Join("bin", "api")); err != nil {
		return nil, err
	}
	return rig.StartIn(l)
})

// A client is a session and its server, as the page sees them.
type client struct {
	t       *testing.T
	session *session
	url     string
}

func start(t *testing.T, stack *rig.Stack) *client {
	t.Helper()
	s, err := newSession(t.Context(), stack, archive(t.TempDir()))
	check.NoError(t, err)
	t.Cleanup(s.running.Wait)
	return &client{t, s, serve(t, s)}
}

// serve serves the handler of s and returns its URL.
func serve(t *testing.T, s *session) string {
	t.Helper()
	server := httptest.NewUnstartedServer(nil)
	server.Config.Handler = s.handler(server.Listener.Addr())
	server.Start()
	t.Cleanup(server.Close)
	return server.URL
}

func (c *client) get(path string, out any) {
	c.t.Helper()
	check.NoError(c.t, rig.NewClient(c.url).Call(c.t.Context(), http.MethodGet, path, "", nil, http.StatusOK, out))
}

// post starts a race and returns its response.
func (c *client) post(r any) (status int, body string) {
	c.t.Helper()
	status, reply, err := rig.NewClient(c.url).Do(c.t.Context(), http.MethodPost, "/races", "", r)
	check.NoError(c.t, err)
	return status, string(reply)
}

// race runs a race to its end and returns it.
func (c *client) race(r Request) Race {
	c.t.Helper()
	status, body := c.post(r)
	var started Race
	if err := json.Unmarshal([]byte(body), &started); err != nil || status != http.StatusCreated {
		c.t.Fatalf("POST /races: %d %s", status, body)
	}
	c.await(started.ID)
	var ended Race
	c.get("/races/"+started.ID, &ended)
	if ended.State != Ended {
		c.t.Fatalf("race %s: %s", ended.State, ended.Error)
	}
	return ended
}

// latest returns the race that was started last.
func (c *client) latest() Race {
	var all []Race
	c.get("/races", &all)
	return all[0]
}

// Two races at once would slow each other down. The next one can start as soon
// as a listener knows of the end.
func TestOneRaceAtATime(t *testing.T) {
	t.Parallel()
	c := start(t, stack(t))
	request := presets()[0]
	request.Sides = request.Sides[:1]
	request.Workload = Workload{Users: 3, ClaimsPerUser: 2, PerUser: 1, Stock: 2, Segments: 1, PauseMS: 300}
	if status, body := c.post(request); status != http.StatusCreated {
		t.Fatalf("first: %d %s", status, body)
	}
	if status, body := c.post(request); status != http.StatusConflict || !strings.Contains(body, "race_running") {
		t.Errorf("second, while the first is running: %d %s", status, body)
	}
	c.await(c.latest().ID)
	if status, body := c.post(request); status != http.StatusCreated {
		t.Errorf("third, after the end of the first: %d %s", status, body)
	}
	c.await(c.latest().ID)
	var all []Race
	if c.get("/races", &all); len(all) != 2 || all[0].ID == all[1].ID || all[0].Started.Before(all[1].Started) ||
		all[1].State != Ended || all[1].Sides[0].Counts == nil {
		t.Errorf("the list: %+v", all)
	}
}

func TestOverlapsAreOfOneKeyOnly(t *testing.T) {
	t.Parallel()
	sections := []Section{
		{Key: "a", Granted: 0, Released: 10}, {Key: "a", Granted: 10, Released: 20}, // one after the other
		{Key: "b", Granted: 5, Released: 50}, {Key: "b", Granted: 6, Released: 7},
		{Key: "b", Granted: 40, Released: 60},
	}
	if n := overlaps(sections); n != 2 {
		t.Errorf("%d overlaps, want 2", n)
	}
}

func TestListenTakesTheNextFreePort(t *testing.T) {
	t.Parallel()
	for range 2 {
		l, err := listen()
		check.NoError(t, err)
		t.Cleanup(func() { _ = l.Close() })
		if ip := l.Addr().(*net.TCPAddr); !ip.IP.IsLoopback() || ip.Port < firstPort || ip.Port >= firstPort+ports {
			t.Errorf("listening at %s", ip)
		}
	}
}
