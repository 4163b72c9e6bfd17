package up

import (
	"bufio"
	"context"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"example.com/flashsale/internal/check"
	"example.com/flashsale/internal/lab"
	"example.com/flashsale/internal/lab/labtest"
	"example.com/flashsale/loadtest/rig"
)

func TestMain(m *testing.M) { labtest.Main(m, lab.MySQLServer, lab.RedisServer, lab.NginxServer) }

var lastLine = regexp.MustCompile(`make up\n$|GET pview\n$`)

// start runs up until the test ends, and returns what it prints.
func start(t *testing.T) (welcome string) {
	t.Helper()
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
	for lines := bufio.NewScanner(r); !lastLine.MatchString(welcome); welcome += lines.Text() + "\n" {
		if !lines.Scan() {
			t.Fatal(lines.Err())
		}
	}
	return welcome
}

// inRepositoryWithBinary changes to a directory that has bin/api and deploy.
func inRepositoryWithBinary(t *testing.T) {
	t.Helper()
	dir, api := t.TempDir(), labtest.API(t)
	deploy, err := filepath.Abs("../../deploy")
	check.NoError(t, err)
	check.NoError(t, os.Mkdir(filepath.Join(dir, "bin"), 0o755))
	check.NoError(t, os.Symlink(api, filepath.Join(dir, "bin", "api")))
	check.NoError(t, os.Symlink(deploy, filepath.Join(dir, "deploy")))
	t.Chdir(dir)
}

// status sends a request without a body and returns the status of the reply.
func status(t *testing.T, method, url, token string) int {
	t.Helper()
	status, _, err := rig.NewClient(url).Do(t.Context(), method, "", token, nil)
	check.NoError(t, err)
	return status
}

func TestUpRunsTheServiceAsShipped(t *testing.T) {
	t.Setenv("JWT_ISSUER", "https://login.example.com") // the printed tokens are of this issuer
	t.Setenv("JWT_AUDIENCE", "flashsale")
	welcome := start(t)
	if strings.Contains(welcome, "LAB, not the service as shipped") {
		t.Error("it calls itself a lab")
	}
	if !strings.Contains(welcome, " JWT_ISSUER='https://login.example.com' JWT_AUDIENCE='flashsale' make load") {
		t.Errorf("make load is not told the issuer and the audience:\n%s", welcome)
	}
	t.Run("printed commands work", func(t *testing.T) { runCommands(t, welcome) })
	url := addressIn(welcome)
	if got := status(t, "POST", url+"/v1/pview", ""); got != 404 {
		t.Errorf("a route of the lab: %d, want 404", got)
	}
	for requests := 1; status(t, "GET", url+"/docs/swagger-ui.css", "") != 429; requests++ {
		if requests == 1000 {
			t.Fatal("nginx does not limit a client")
		}
	}
}

func addressIn(welcome string) string {
	return regexp.MustCompile(`open at (\S+)`).FindStringSubmatch(welcome)[1]
}

func TestUpInTheLabTakesAwayWhatItIsTold(t *testing.T) {
	for name, value := range map[string]string{"LAB": "true", "LOCK": "none", "GUARDS_OFF": "unique"} {
		t.Setenv(name, value)
	}
	welcome := start(t)
	if !strings.Contains(welcome, "LAB, not the service as shipped: GUARDS_OFF=unique LOCK=none LOCK_SCOPE=user COMMIT=each") {
		t.Errorf("it does not say what it takes away:\n%s", welcome)
	}
	for _, version := range []string{"v0", "v1", "v2", "v3", "v4"} {
		if got := status(t, "GET", addressIn(welcome)+"/"+version+"/pview", ""); got != 200 {
			t.Errorf("/%s/pview: %d, want 200", version, got)
		}
	}
	for _, command := range []string{"redis-cli -s /", "  make bin/k6 && bin/k6 run", "loadtest/jmeter/pview.jmx",
		"WORKLOADS=jmeter-one-user,jmeter-many-users make judge"} {
		if !strings.Contains(welcome, command) {
			t.Errorf("it prints no line with %s:\n%s", command, welcome)
		}
	}
	claim := printed.FindAllStringSubmatch(welcome, -1)[1][3]
	signer := rig.TokenSigner(regexp.MustCompile(`JWT_SECRET=(\S+)`).FindStringSubmatch(welcome)[1])
	for user := int64(1); claimAtOnce(t, claim, signer.User(user)) < 2; user++ {
		if user == 30 {
			t.Fatal("no user got two orders by 100 claims at once")
		}
	}
}

// claimAtOnce sends 100 claims of one user and returns how many were accepted.
func claimAtOnce(t *testing.T, claim, token string) int64 {
	t.Helper()
	var wg sync.WaitGroup
	var accepted atomic.Int64
	for range 100 {
		wg.Go(func() {
			if status(t, "POST", claim, token) == 201 {
				accepted.Add(1)
			}
		})
	}
	wg.Wait()
	return accepted.Load()
}

// printed matches a command that up prints: its method, its token and its address.
var printed = regexp.MustCompile(`curl -s( -X POST)? -H 'Authorization: Bearer (\S+)' (\S+)`)

func runCommands(t *testing.T, welcome string) {
	commands := printed.FindAllStringSubmatch(welcome, -1)
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
