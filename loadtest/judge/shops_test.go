package judge

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"example.com/flashsale/internal/check"
	"example.com/flashsale/internal/lab"
	"example.com/flashsale/internal/lab/labtest"
	"example.com/flashsale/loadtest/rig"
	"example.com/flashsale/loadtest/shop"
	"example.com/flashsale/loadtest/verdict"
)

var shops = filepath.Join("examples", "shops")

// startShop starts a server that takes its port from PORT, and returns its address.
func startShop(t *testing.T, program string, args []string, settings ...string) (address string) {
	t.Helper()
	path, err := lab.LookPath(program)
	check.NoError(t, err)
	p := lab.Program{
		Name: "shop", Path: path, Args: args, Dir: t.TempDir(),
		Ready: func(ctx context.Context) error {
			_, _, err := rig.NewClient("http://"+address).Do(ctx, http.MethodGet, "/health", "", nil)
			return err
		},
	}
	labtest.Start(t, func(l *lab.Lab) (*lab.Server, error) {
		return lab.WithFreePort(func(port int) (*lab.Server, error) {
			address = fmt.Sprintf("127.0.0.1:%d", port)
			p.Env = append(settings, fmt.Sprintf("PORT=%d", port))
			return l.Start(p)
		})
	})
	return address
}

// database starts a database server with the empty database shop.
func database(t *testing.T) (m *lab.MySQL, dsn string) {
	t.Helper()
	m = labtest.Start(t, func(l *lab.Lab) (*lab.MySQL, error) { return lab.StartMySQLTCP(l) })
	dsn, err := m.Create(t.Context(), "shop")
	check.NoError(t, err)
	return m, dsn
}

const (
	baseURL  = "${BASE_URL:-http://127.0.0.1:8080}"
	mysqlDSN = "${MYSQL_DSN:-root@tcp(127.0.0.1:3306)/shop}"
)

// startNode starts the shop in Node.
func startNode(t *testing.T) *shop.Shop {
	t.Helper()
	s := shopOf(t, "node.yml", "")
	stop, err := s.Start(t.Context())
	check.NoError(t, err)
	t.Cleanup(func() {
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// It looks, and then it acts: all of its rows break.
func TestShopInNodeWithoutAGuardIsFoundBroken(t *testing.T) {
	labtest.NeedInterop(t) // not parallel: it installs what the next one uses
	results := judged(t, startNode(t), oneUser, manyUsers, sevenEach)
	wantVerdicts(t, results, verdict.Broke, verdict.Broke, verdict.Broke)
}

// k6 run fails where a promise breaks, and only there.
func TestShopIsJudgedByTheThresholdsOfK6(t *testing.T) {
	labtest.NeedInterop(t)
	t.Parallel()
	node := startNode(t)
	broken, out := false, ""
	for n := 0; n < 5 && !broken; n++ {
		broken, out = runK6(t, "k6-node.js", "BASE_URL="+string(node.URL))
	}
	if !broken || !strings.Contains(out, "oversold") || !strings.Contains(out, "duplicates") {
		t.Errorf("the shop in Node: %s", out)
	}
	ours := startService(t)
	if broken, out = runK6(t, "k6-flashsale.js", "BASE_URL="+ours.url, "JWT_SECRET="+secret); broken {
		t.Errorf("our service: %s", out)
	}
}

// runK6 runs a script of examples/shops, and reports whether a threshold failed.
func runK6(t *testing.T, script string, settings ...string) (failed bool, out string) {
	t.Helper()
	const thresholdsFailed = 99
	k6 := exec.CommandContext(t.Context(), filepath.Join("bin", "k6"), "run", "--no-color",
		"--no-usage-report", "--address", "localhost:0", filepath.Join(shops, script))
	k6.Env = append(os.Environ(), settings...)
	text, err := k6.CombinedOutput()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok && exit.ExitCode() == thresholdsFailed {
		return true, string(text)
	}
	if err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	return false, string(text)
}

// Two instances behind nginx, with the same claim twice: the lock is released after the
// commit, and before.
func TestShopInJavaIsJudgedByWhereItsTransactionEnds(t *testing.T) {
	labtest.NeedInterop(t)
	t.Parallel()
	classes := labtest.BuildJava(t, filepath.Join(shops, "java"))
	m, dsn := database(t)
	redis := labtest.Start(t, func(l *lab.Lab) (*lab.Redis, error) { return lab.StartRedisTCP(l) })
	var upstreams []string
	for range 2 {
		args := []string{"-Xmx256m", "-XX:TieredStopAtLevel=1", "-cp", classes, "shop.Shop"}
		upstreams = append(upstreams, startShop(t, "java", args, "JDBC=jdbc:mariadb://"+m.Address+"/shop",
			"REDIS="+redis.URL))
	}
	nginx := startNginx(t, upstreams...)
	right := shopOf(t, "java.yml", "", baseURL, nginx.URL, mysqlDSN, dsn)
	wantVerdicts(t, judged(t, right, oneUser, sevenEach), verdict.Held, verdict.Held)
	outside := shopOf(t, "java.yml", "", baseURL, nginx.URL, mysqlDSN, dsn, "${CLAIMS:-claims}", "claims-outside")
	wantVerdicts(t, judged(t, outside, oneUser), verdict.Wrong)
}
