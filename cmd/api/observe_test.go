package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"example.com/flashsale/internal/auth"
	"example.com/flashsale/internal/check"
	"example.com/flashsale/internal/lab"
	"example.com/flashsale/internal/lab/labtest"
	"example.com/flashsale/internal/transaction"
)

const observeFiles = "../../deploy/observe"

// A panelQuery is a query that a dashboard or an alert makes.
type panelQuery struct{ from, expr string }

// A real Prometheus, with the shipped configuration but for the targets and the
// interval, scrapes two instances that sell.
func TestEveryQueryOfTheDashboardsAndAlertsReturnsData(t *testing.T) {
	t.Parallel()
	env := environ(t, map[string]string{"LOCK_TTL": "1s", "USER_RATE": "0", "ADDRESS_RATE": "0",
		"EVENTS": "true"})
	a := start(t, env).ready(t)
	env["INSTANCE"] = "b"
	b := start(t, env).ready(t)
	sell(t, env["MYSQL_DSN"], a, b)
	p := startPrometheus(t, a, b)
	queries := append(dashboardQueries(t), p.alertQueries(t)...)
	if len(queries) < 40 {
		t.Fatalf("only %d queries: have the dashboards moved?", len(queries))
	}
	for _, q := range queries {
		if strings.Contains(q.expr, "probe_ssl_") { // the blackbox exporter's, not the service's
			continue
		}
		check.Eventually(t, fmt.Sprintf("%s: %s returns data", q.from, q.expr),
			func() bool { return p.returnsData(t, q.expr) })
	}
}

// sell makes claims of all kinds at both instances until the test ends. A
// transaction of the test delays some of them, so that their locks are renewed.
func sell(t *testing.T, dsn string, instances ...*instance) {
	t.Helper()
	db := labtest.Open(t, dsn)
	ctx, stop := context.WithCancel(context.Background())
	var clients sync.WaitGroup
	t.Cleanup(func() { stop(); clients.Wait() })
	// the last does not exist
	coupons := []string{instances[0].createCoupon(t, 1_000_000), instances[0].createCoupon(t, 1), "1"}
	for n, i := range instances {
		clients.Go(func() {
			for user := int64(n + 1); ctx.Err() == nil; user += 2 {
				for _, coupon := range coupons {
					i.post(t, "/coupons/"+coupon+"/orders", tokenFor(t, user, auth.RoleUser), "")
				}
				i.get(t, "/orders", tokenFor(t, user, auth.RoleUser))
			}
		})
	}
	clients.Go(func() {
		for ctx.Err() == nil {
			tx := db.MustBegin()
			tx.MustExec("SELECT stock FROM coupons WHERE id = ? FOR UPDATE", coupons[0])
			_ = transaction.Pause(ctx, 700*time.Millisecond)
			_ = tx.Rollback()
			_ = transaction.Pause(ctx, 300*time.Millisecond)
		}
	})
}

// A prometheusServer is a Prometheus that runs the shipped rules.
type prometheusServer struct{ url string }

func startPrometheus(t *testing.T, instances ...*instance) prometheusServer {
	t.Helper()
	dir := t.TempDir()
	var targets []string
	for _, i := range instances {
		targets = append(targets, strconv.Quote(i.address()))
	}
	for _, file := range []string{"prometheus.yml", "rules.yml"} {
		text := strings.ReplaceAll(readFile(t, filepath.Join(observeFiles, file)), "_interval: 5s", "_interval: 500ms")
		text = strings.Replace(text, `"api-a:8080", "api-b:8080"`, strings.Join(targets, ", "), 1)
		check.NoError(t, os.WriteFile(filepath.Join(dir, file), []byte(text), 0o644))
	}
	p, err := lab.StartPrometheus(labtest.Lab(t), filepath.Join(dir, "prometheus.yml"))
	check.NoError(t, err)
	t.Cleanup(p.Kill)
	return prometheusServer{p.Address}
}

// get requests path of the API and decodes the member data of the reply.
func (p prometheusServer) get(t *testing.T, path string, data any) {
	t.Helper()
	resp, err := http.Get(p.url + path)
	check.NoError(t, err)
	defer resp.Body.Close()
	reply := struct {
		Status, Error string
		Data          any
	}{Data: data}
	if err := json.NewDecoder(resp.Body).Decode(&reply); err != nil || reply.Status != "success" {
		t.Fatalf("%s: %v %s", path, err, reply.Error)
	}
}

// returnsData reports whether expr has a result that is a number.
func (p prometheusServer) returnsData(t *testing.T, expr string) bool {
	t.Helper()
	var data struct {
		Result []struct{ Value [2]any }
	}
	p.get(t, "/api/v1/query?query="+url.QueryEscape(expr), &data)
	for _, sample := range data.Result {
		if sample.Value[1] != "NaN" {
			return true
		}
	}
	return false
}

// Without these, the expression of a silent alert has the data that the alert is
// about. An "or" or "and" then has data if its operands have.
var (
	comparison = regexp.MustCompile(`\s*(==|>|<=?)\s*[0-9.]+`)
	operator   = regexp.MustCompile(` (?:or|and on \(instance\)) `)
)

// alertQueries returns the expressions of the rules that the server has loaded,
// one for each operand.
func (p prometheusServer) alertQueries(t *testing.T) (queries []panelQuery) {
	t.Helper()
	var data struct {
		Groups []struct {
			Rules []struct{ Name, Query string }
		}
	}
	p.get(t, "/api/v1/rules", &data)
	for _, group := range data.Groups {
		for _, rule := range group.Rules {
			for _, operand := range operator.Split(rule.Query, -1) {
				operand = strings.ReplaceAll(comparison.ReplaceAllString(operand, ""), "absent(", "sum(")
				switch strings.Count(operand, "(") - strings.Count(operand, ")") {
				case 1:
					operand = strings.TrimPrefix(operand, "(")
				case -1:
					operand = strings.TrimSuffix(operand, ")")
				}
				queries = append(queries, panelQuery{"alert " + rule.Name, operand})
			}
		}
	}
	return queries
}

// dashboardQueries returns the queries of all panels, with the variables that
// Grafana would substitute.
func dashboardQueries(t *testing.T) (queries []panelQuery) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(observeFiles, "grafana/dashboards/*.json"))
	if err != nil || len(files) != 3 {
		t.Fatalf("%d dashboards, want 3: %v", len(files), err)
	}
	variables := strings.NewReplacer("$__rate_interval", "10s", "$instance", ".*")
	for _, file := range files {
		var dashboard struct {
			Panels []struct {
				Title   string
				Targets []struct{ Expr string }
			}
		}
		if err := json.Unmarshal([]byte(readFile(t, file)), &dashboard); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		for _, panel := range dashboard.Panels {
			for _, target := range panel.Targets {
				queries = append(queries,
					panelQuery{filepath.Base(file) + ": " + panel.Title, variables.Replace(target.Expr)})
			}
		}
	}
	return queries
}

func TestAlertsFireAndStaySilent(t *testing.T) {
	t.Parallel()
	labtest.NeedServers(t)
	promtool, err := lab.LookPath("promtool")
	check.NoError(t, err)
	for _, args := range [][]string{{"check", "config", "prometheus.yml"}, {"test", "rules", "rules_test.yml"}} {
		cmd := exec.Command(promtool, args...)
		cmd.Dir = observeFiles
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("promtool %v: %v\n%s", args, err, out)
		}
	}
	cases := readFile(t, filepath.Join(observeFiles, "rules_test.yml"))
	alerts := regexp.MustCompile(`- alert: (\w+)`).FindAllStringSubmatch(readFile(t,
		filepath.Join(observeFiles, "rules.yml")), -1)
	if len(alerts) < 9 {
		t.Fatalf("%d alerts", len(alerts))
	}
	for _, alert := range alerts {
		if !strings.Contains(cases, "alertname: "+alert[1]+", exp_alerts: []") {
			t.Errorf("%s has no silent case", alert[1])
		}
		if !strings.Contains(cases, "alertname: "+alert[1]+"\n        exp_alerts:\n          - ") {
			t.Errorf("%s has no firing case", alert[1])
		}
	}
}

func readFile(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	check.NoError(t, err)
	return string(b)
}
