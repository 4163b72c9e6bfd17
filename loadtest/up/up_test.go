package up

import (
	"bufio"
	"context"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"example.com/flashsale/internal/lab"
	"example.com/flashsale/internal/lab/labtest"
)

func TestMain(m *testing.M) { labtest.Main(m, lab.MySQLServer, lab.RedisServer, lab.NginxServer) }

// start runs up until the test ends, and returns what it prints.
func start(t *testing.T) (welcome string) {
	t.Helper()
	labtest.NeedServers(t)
	inRepositoryWithBinary(t)
	ctx, stop := context.WithCancel(t.Context())
	r, w := io.Pipe()
	ended := make(chan error, 1)
	go func() {
		err := run(ctx, w)
		_ = w.CloseWithError(err)
		ended <- err
	}()
	t.Cleanup(func() {
		stop()
		_ = r.Close()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	for lines := bufio.NewScanner(r); !strings.Contains(welcome, "make load"); welcome += lines.Text() + "\n" {
		if !lines.Scan() {
			t.Fatal(lines.Err())
		}
	}
	return welcome
}

// inRepositoryWithBinary changes to a directory that has bin/api and deploy.
func inRepositoryWithBinary(t *testing.T) {
	t.Helper()
	dir := t.TempDir()
	labtest.BuildAPI(t, filepath.Join(dir, "bin", "api"))
	deploy, err := filepath.Abs("../../deploy")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(deploy, filepath.Join(dir, "deploy")); err != nil {
		t.Fatal(err)
	}
	t.Chdir(dir)
}

// status sends a request without a body and returns the status of the reply.
func status(t *testing.T, method, url, token string) int {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	_, _ = io.Copy(io.Discard, resp.Body)
	return resp.StatusCode
}

func TestUpRunsTheServiceAsShipped(t *testing.T) {
	t.Setenv("LAB", "true") // the caller's environment does not make it a lab
	welcome := start(t)
	t.Run("printed commands work", func(t *testing.T) { runCommands(t, welcome) })
	url := regexp.MustCompile(`open at (\S+)`).FindStringSubmatch(welcome)[1]
	if n := instancesOf(t, url+"/docs/swagger-ui.css"); n != 1 {
		t.Errorf("nginx does not cache /docs: it is from %d instances", n)
	}
	for _, path := range []string{"/debug/pprof/heap", "/metrics", "/v1/pview"} {
		if got := status(t, "POST", url+path, ""); got != 404 {
			t.Errorf("%s: %d, want 404", path, got)
		}
	}
	for requests := 1; status(t, "GET", url+"/metrics", "") != 429; requests++ {
		if requests == 5000 {
			t.Fatal("nginx does not limit a client")
		}
	}
}

// instancesOf returns how many instances replied to several requests.
func instancesOf(t *testing.T, url string) int {
	t.Helper()
	instances := map[string]bool{}
	for range 10 {
		resp, err := http.Get(url)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.Copy(io.Discard, resp.Body)
		_ = resp.Body.Close()
		instances[resp.Header.Get("X-Instance")] = true
	}
	return len(instances)
}

func runCommands(t *testing.T, welcome string) {
	commands := regexp.MustCompile(`curl -s( -X POST)? -H 'Authorization: Bearer (\S+)' (\S+)`).FindAllStringSubmatch(welcome, -1)
	if len(commands) != 3 {
		t.Fatalf("%d commands, want 3", len(commands))
	}
	for _, c := range commands {
		method, want := "GET", 200
		if c[1] != "" {
			method, want = "POST", 201
		}
		if got := status(t, method, c[3], c[2]); got != want {
			t.Errorf("%s %s: %d, want %d", method, c[3], got, want)
		}
	}
}
