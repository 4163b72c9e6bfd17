package judge

import (
	"context"
	"fmt"
	"net/http"
	"path/filepath"
	"testing"

	"example.com/flashsale/internal/lab"
	"example.com/flashsale/internal/lab/labtest"
	"example.com/flashsale/loadtest/verdict"
)

var shops = filepath.Join("..", "..", "examples", "shops")

// startShop starts a server that takes its port from PORT, and returns its address.
func startShop(t *testing.T, program string, args []string, settings ...string) (address string) {
	t.Helper()
	p := lab.Program{
		Name: "shop", Path: lookPath(t, program), Args: args, Dir: t.TempDir(),
		Ready: func(ctx context.Context) error { return healthy(ctx, address) },
	}
	started(t, func(l *lab.Lab) (*lab.Server, error) {
		return lab.WithFreePort(func(port int) (*lab.Server, error) {
			address = fmt.Sprintf("127.0.0.1:%d", port)
			p.Env = append(settings, fmt.Sprintf("PORT=%d", port))
			return l.Start(p)
		})
	})
	return address
}

// started starts a server that is killed when the test ends.
func started[S interface{ Kill() }](t *testing.T, start func(*lab.Lab) (S, error)) S {
	t.Helper()
	s, err := start(labtest.Lab(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Kill)
	return s
}

func lookPath(t *testing.T, program string) string {
	t.Helper()
	path, err := lab.LookPath(program)
	if err != nil {
		t.Fatal(err)
	}
	return path
}

func healthy(ctx context.Context, address string) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+address+"/health", http.NoBody)
	if err != nil {
		return err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	return response.Body.Close()
}

// database starts a database server with the empty database shop.
func database(t *testing.T) (m *lab.MySQL, dsn string) {
	t.Helper()
	m = started(t, func(l *lab.Lab) (*lab.MySQL, error) { return lab.StartMySQLTCP(l) })
	dsn, err := m.Create(t.Context(), "shop")
	if err != nil {
		t.Fatal(err)
	}
	return m, dsn
}

const (
	baseURL  = "${BASE_URL:-http://127.0.0.1:8080}"
	mysqlDSN = "${MYSQL_DSN:-root@tcp(127.0.0.1:3306)/shop}"
)

// It looks, and then it acts: all of its rows break.
func TestShopInNodeWithoutAGuardIsFoundBroken(t *testing.T) {
	labtest.NeedInterop(t)
	t.Parallel()
	dir, logs := abs(t, filepath.Join(shops, "node")), t.TempDir()
	err := lab.Run(t.Context(), lab.Program{
		Name: "npm", Path: lookPath(t, "npm"), Dir: logs, Args: []string{"ci", "--silent", "--prefix", dir},
	})
	if err != nil {
		t.Fatal(err)
	}
	m, dsn := database(t)
	address := startShop(t, "node", []string{filepath.Join(dir, "shop.mjs")}, "MYSQL=mysql://root@"+m.Address+"/shop")
	s := shopOf(t, "node.yml", "", baseURL, "http://"+address, mysqlDSN, dsn)
	wantVerdicts(t, judged(t, s, oneUser, manyUsers, sevenEach), verdict.Broke, verdict.Broke, verdict.Broke)
}

// Two instances behind nginx, with the same claim twice: the lock is released after the
// commit, and before.
func TestShopInJavaIsJudgedByWhereItsTransactionEnds(t *testing.T) {
	labtest.NeedInterop(t)
	t.Parallel()
	classes := labtest.BuildJava(t, filepath.Join(shops, "java"))
	m, dsn := database(t)
	redis := started(t, func(l *lab.Lab) (*lab.Redis, error) { return lab.StartRedisTCP(l) })
	var upstreams []string
	for range 2 {
		args := []string{"-Xmx256m", "-XX:TieredStopAtLevel=1", "-cp", classes, "shop.Shop"}
		upstreams = append(upstreams, startShop(t, "java", args, "JDBC=jdbc:mariadb://"+m.Address+"/shop",
			"REDIS="+redis.URL))
	}
	nginx := startNginx(t, upstreams...)
	right := shopOf(t, "java.yml", "", baseURL, nginx.URL, mysqlDSN, dsn)
	wantVerdicts(t, judged(t, right, oneUser, sevenEach), verdict.Held, verdict.Held)
	outside := shopOf(t, "java-outside.yml", "", baseURL, nginx.URL, mysqlDSN, dsn)
	wantVerdicts(t, judged(t, outside, oneUser), verdict.Broke)
}

func abs(t *testing.T, path string) string {
	t.Helper()
	path, err := filepath.Abs(path)
	if err != nil {
		t.Fatal(err)
	}
	return path
}
