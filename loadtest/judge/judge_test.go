package judge

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"example.com/flashsale/internal/check"
	"example.com/flashsale/internal/lab"
	"example.com/flashsale/internal/lab/labtest"
	"example.com/flashsale/loadtest/rig"
	"example.com/flashsale/loadtest/shop"
	"example.com/flashsale/loadtest/verdict"
)

func TestMain(m *testing.M) {
	if how := os.Getenv("SERVED"); how != "" {
		servedShop(how)
	}
	if err := os.Chdir(filepath.Join("..", "..")); err != nil { // a shop's commands are run at the root
		panic(err)
	}
	labtest.Main(m, lab.MySQLServer, lab.RedisServer, lab.NginxServer)
}

const secret = "a secret of the tests, which has 32 bytes"

// A service is two instances of this repository's service behind nginx.
type service struct {
	url, dsn string
	instance *lab.API // one of them
}

func startService(t *testing.T, settings ...string) service {
	t.Helper()
	l, redis, binary := labtest.Lab(t), labtest.Redis(t), labtest.API(t)
	s := service{dsn: labtest.DSN(t)}
	var upstreams []string
	for i := range 2 {
		api, err := lab.StartAPI(l, binary, rig.InstanceName(i), append([]string{"MYSQL_DSN=" + s.dsn,
			"REDIS_URL=" + redis.URL, "JWT_SECRET=" + secret, "LOG_LEVEL=error", "USER_RATE=0"}, settings...)...)
		check.NoError(t, err)
		t.Cleanup(api.Kill)
		s.instance, upstreams = api, append(upstreams, api.Address)
	}
	s.url = startNginx(t, upstreams...).URL
	return s
}

func startNginx(t *testing.T, upstreams ...string) *lab.Nginx {
	t.Helper()
	return labtest.Start(t, func(l *lab.Lab) (*lab.Nginx, error) {
		return lab.StartNginx(l, filepath.Join("deploy", "nginx"), upstreams...)
	})
}

// shopOf returns the shop of a file of examples/shops, with values for its variables,
// and more settings.
func shopOf(t *testing.T, file, more string, variables ...string) *shop.Shop {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(shops, file))
	check.NoError(t, err)
	s, err := shop.Parse([]byte(strings.NewReplacer(variables...).Replace(string(text)) + more))
	check.NoError(t, err)
	return s
}

func (s service) shop(t *testing.T, more string) *shop.Shop {
	t.Helper()
	return shopOf(t, "flashsale.yml", more, "${BASE_URL}", s.url, "${JWT_SECRET:-}", secret)
}

// Small workloads.
var (
	oneUser   = burst(rig.Workload{Script: "one-user", Users: 1, Each: 60, Stock: 10, Rounds: 1})
	manyUsers = burst(rig.Workload{Script: "many-users", Users: 120, Each: 1, Stock: 20, Rounds: 1})
	sevenEach = burst(rig.Workload{Script: "seven-each", Users: 30, Each: 7, Stock: 15, Rounds: 1})
	open      = Workload{Workload: rig.Workload{Users: 40, Each: 2, Stock: 20, Rounds: 1}, Open: true, Send: Open}
)

func judged(t *testing.T, s *shop.Shop, workloads ...Workload) []*Result {
	t.Helper()
	results, err := Judge(t.Context(), s, t.TempDir(), workloads)
	check.NoError(t, err)
	return results
}

// wantVerdicts fails the test unless the results have the verdicts.
func wantVerdicts(t *testing.T, results []*Result, want ...verdict.Verdict) {
	t.Helper()
	if got := verdicts(results); fmt.Sprint(got) != fmt.Sprint(want) {
		var table strings.Builder
		Table(results).Write(&table, 80)
		t.Errorf("%v, want %v\n%s", got, want, &table)
	}
}

// As shipped, but without the lock of a user, which refuses some of the claims of a limit.
func TestOurServiceKeepsItsPromises(t *testing.T) {
	t.Parallel()
	service := startService(t, "LOCK=none")
	s := service.shop(t, fmt.Sprintf(limited+`
open_loop: {rate: 200, duration: 2s}
faults:
  - {name: instance, stop: kill -STOP %[1]d, for: 500ms, start: kill -CONT %[1]d}
`, service.instance.PID()))
	results := judged(t, s, oneUser, manyUsers, sevenEach, open, limits(s)[0])
	wantVerdicts(t, results, verdict.Held, verdict.Held, verdict.Held, verdict.Held, verdict.Held)
	for i, want := range []int{1, 20, 15, 20, 3} {
		if n := len(results[i].Acknowledged()); n != want || results[i].Verdicts()[shop.Unknown] > 0 {
			t.Errorf("%s: %d accepted, want %d; %s", results[i].Title(), n, want, results[i].note())
		}
	}
	// Only what the commands of the file name is touched: here, an instance is suspended in mid-sale.
	workloads, err := choose(s, "fault-instance")
	check.NoError(t, err)
	results = judged(t, s, workloads...)
	wantVerdicts(t, results, verdict.Held)
	if waited := results[0].Latency(1); waited < 400*time.Millisecond {
		t.Errorf("no claim waited for the instance: at most %s", waited)
	}
}

// limited is one user who asks for more than his limit at one moment: a service that counts, and then
// inserts, gives him more.
const limited = "workloads: [{name: limit, users: 1, each: 60, stock: 40, per_user: 3}]\n"

// inDatabase has the totals that the database says, and not the service.
const inDatabase = `
url: http://h
claim: {url: /}
reply: {accepted: {status: [201]}, order: {pointer: /id}}
mysql: DSN
totals:
  sql:
    stock: SELECT stock FROM coupons WHERE id = {{coupon}}
    orders: SELECT COUNT(*) FROM coupon_orders WHERE coupon_id = {{coupon}}
    users: SELECT COUNT(DISTINCT user_id) FROM coupon_orders WHERE coupon_id = {{coupon}}
    order_ids: SELECT id FROM coupon_orders WHERE coupon_id = {{coupon}}
`

func TestServiceWithoutGuardsIsFoundBroken(t *testing.T) {
	t.Parallel()
	service := startService(t, "LAB=true", "LOCK=none", "COMMIT=each", "GUARDS_OFF=stock,unique,number")
	labtest.Open(t, service.dsn).MustExec("ALTER TABLE coupon_orders DROP INDEX one_each")
	s := service.shop(t, limited+"breaks: [one-user, many-users, limit]\n")
	counted, err := shop.Parse([]byte(strings.Replace(inDatabase, "DSN", service.dsn, 1)))
	check.NoError(t, err)
	s.MySQL, s.Totals = counted.MySQL, counted.Totals
	results := judged(t, s, oneUser, manyUsers, sevenEach, limits(s)[0])
	wantVerdicts(t, results, verdict.Broke, verdict.Broke, verdict.Wrong, verdict.Broke)
	if results[0].OneEach().Broken == "" || results[1].NotOversold().Broken == "" || results[3].OneEach().Broken == "" {
		t.Errorf("one user: %s; many users: %s; limit: %s", results[0].OneEach(), results[1].NotOversold(),
			results[3].OneEach())
	}
}

func TestInterruptedRunJudgesNothing(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	endless := open
	endless.Send = func(ctx context.Context, dir string, t rig.Target, w rig.Workload) (rig.Burst, error) {
		cancel()
		return Open(ctx, dir, t, w)
	}
	results, err := Judge(ctx, new(formShop).start(t, 1000), t.TempDir(), []Workload{endless, oneUser})
	if err == nil || !strings.Contains(err.Error(), "interrupted") || results != nil {
		t.Errorf("%d results, %v", len(results), err)
	}
}

func TestUnknownWorkloadIsNamed(t *testing.T) {
	t.Parallel()
	s := &shop.Shop{OpenLoop: shop.OpenLoop{Rate: 10, Duration: 1e9}}
	if _, err := choose(s, "one-user,two-users"); err == nil || !strings.Contains(err.Error(), `"two-users"`) {
		t.Errorf("WORKLOADS: %v", err)
	}
	chosen, err := choose(s, "seven-each,one-user")
	if err != nil || len(chosen) != 2 || chosen[0].Name != "one-user" {
		t.Errorf("%v, %v", chosen, err)
	}
	s.Breaks = []string{"nothing"}
	if _, err := choose(s, ""); err == nil || !strings.Contains(err.Error(), `breaks: there is no workload "no`) {
		t.Errorf("breaks: %v", err)
	}
}
