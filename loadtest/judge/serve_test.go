package judge

import (
	"database/sql"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"example.com/flashsale/internal/check"
	"example.com/flashsale/loadtest/shop"
	"example.com/flashsale/loadtest/verdict"
)

// servedShop is the shop that this program is, when a file under test starts it. It looks
// for a unit and then takes one: in one statement, in two, or without its database. It ignores
// SIGTERM, as some do while they serve.
func servedShop(how string) {
	signal.Ignore(syscall.SIGTERM)
	db, err := sql.Open("mysql", fmt.Sprintf("%s@tcp(%s:%s)/%s?interpolateParams=true", os.Getenv("DB_USER"),
		os.Getenv("DB_HOST"), os.Getenv("DB_PORT"), os.Getenv("DB_NAME")))
	if err != nil {
		panic(err)
	}
	http.HandleFunc("POST /orders", func(w http.ResponseWriter, r *http.Request) {
		sold, err := true, error(nil)
		if how != "elsewhere" {
			sold, err = takeUnit(db, how, r.FormValue("user"))
		}
		switch {
		case err != nil:
			http.Error(w, err.Error(), http.StatusInternalServerError)
		case sold:
			w.WriteHeader(http.StatusCreated)
		default:
			w.WriteHeader(http.StatusConflict)
		}
	})
	panic(http.ListenAndServe("127.0.0.1:"+os.Getenv("PORT"), nil))
}

func takeUnit(db *sql.DB, how, user string) (sold bool, err error) {
	left := 1
	if how == "two" {
		if err := db.QueryRow("SELECT stock FROM items").Scan(&left); err != nil || left == 0 {
			return false, err
		}
		_, err = db.Exec("UPDATE items SET stock = GREATEST(stock - 1, 0)")
	} else {
		var taken sql.Result
		if taken, err = db.Exec("UPDATE items SET stock = stock - 1 WHERE stock > 0"); err == nil {
			n, _ := taken.RowsAffected()
			left = int(n)
		}
	}
	if err != nil || left == 0 {
		return false, err
	}
	_, err = db.Exec("INSERT INTO orders VALUES (?)", user)
	return err == nil, err
}

// serving returns the file of such a shop, which starts in a process of its own.
func serving(t *testing.T, how string) *shop.Shop {
	t.Helper()
	program, err := os.Executable()
	check.NoError(t, err)
	file := strings.NewReplacer("HOW", how, "PROGRAM", program).Replace(`
name: served
version: HOW
serve:
  database: mariadb
  prepare: "$(command -v mariadb || command -v mysql) --no-defaults -h $DB_HOST -P $DB_PORT -u $DB_USER $DB_NAME -e
    'CREATE TABLE items (stock INT); INSERT INTO items VALUES (0); CREATE TABLE orders (user INT)'"
  run: SERVED=HOW PROGRAM & wait # and so the shop is a child of what is started
workloads:
  - {name: last-unit, users: 20, stock: 1, delay: 50ms, breaks_in: [two], report: "https://example.com/1"}
claim: {url: "/orders?user={{user}}", method: POST}
reply: {accepted: {status: [201]}, refused: {status: [409]}}
begin: {sql: [DELETE FROM orders, "UPDATE items SET stock = {{stock}}"]}
totals:
  sql:
    stock: SELECT stock FROM items
    orders: SELECT COUNT(*) FROM orders
    users: SELECT COUNT(DISTINCT user) FROM orders
    order_users: SELECT user FROM orders
`)
	s, err := shop.Parse([]byte(file))
	check.NoError(t, err)
	return s
}

// A delay between a shop and its database widens the window between a look and an act.
func TestServedShopIsJudgedWithItsDatabaseFarAway(t *testing.T) {
	t.Parallel()
	for how, want := range map[string]struct {
		verdict verdict.Verdict
		told    string
	}{
		"one":       {verdict.Held, "requests to the database, each 50ms late"},
		"two":       {verdict.Broke, "requests to the database, each 50ms late"},
		"elsewhere": {verdict.Wrong, "0 requests to the database"},
	} {
		s := serving(t, how)
		stop, err := s.Start(t.Context())
		check.NoError(t, err)
		results := judged(t, s, limits(s)...)
		wantVerdicts(t, results, want.verdict)
		if note := results[0].note(); !strings.Contains(note, want.told) {
			t.Errorf("%s: %s, want %s", how, note, want.told)
		}
		if fastest := results[0].Latency(0); how != "elsewhere" && fastest < 50*time.Millisecond {
			t.Errorf("%s: a claim took %s", how, fastest)
		}
		if err := stop(); err != nil {
			t.Error(err)
		}
		if resp, err := http.Get(string(s.URL)); err == nil {
			_ = resp.Body.Close()
			t.Error("the shop outlives the run")
		}
	}
}

// A shop that was started is gone when the judge was killed.
func TestServedShopIsGoneWhenTheJudgeIsKilled(t *testing.T) {
	t.Parallel()
	if file := os.Getenv("KILLED"); file != "" { // this is the judge
		s := serving(t, "one")
		_, err := s.Start(t.Context())
		check.NoError(t, err)
		check.NoError(t, os.WriteFile(file+".new", []byte(s.URL), 0o600))
		check.NoError(t, os.Rename(file+".new", file))
		select {}
	}
	program, err := os.Executable()
	check.NoError(t, err)
	file := filepath.Join(t.TempDir(), "url")
	judge := exec.Command(program, "-test.run", "^"+t.Name()+"$")
	judge.Dir = filepath.Join("loadtest", "judge")
	judge.Env = append(os.Environ(), "KILLED="+file)
	judge.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	check.NoError(t, judge.Start())
	var url []byte
	check.Eventually(t, "the shop is started", func() bool {
		url, err = os.ReadFile(file)
		return err == nil
	})
	_ = judge.Process.Kill()
	_ = judge.Wait()
	check.Eventually(t, "the shop is gone", func() bool {
		resp, err := http.Get(string(url))
		if err == nil {
			_ = resp.Body.Close()
		}
		return err != nil
	})
}

func TestUsersMayHaveAsManyOrdersAsTheLimitSays(t *testing.T) {
	t.Parallel()
	for want, c := range map[string]struct{ orders, users, most shop.Count }{
		"held":           {counted(6), counted(3), counted(2)},
		"3 for one user": {counted(6), counted(3), counted(3)},
		"1 duplicates":   {counted(7), counted(3), shop.Count{}},
		"unknown":        {counted(6), counted(3), shop.Count{}},
	} {
		r := resultOf(6, 0, 0)
		r.Limit.PerUser = 2
		r.After = shop.Counts{Orders: c.orders, Users: c.users, MostPerUser: c.most}
		if got := r.OneEach().String(); got != want {
			t.Errorf("%+v: %s, want %s", c, got, want)
		}
	}
}
