package httpapi

import (
	"context"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"example.com/flashsale/internal/lab/labtest"
	"example.com/flashsale/migrations"
)

// TestEverySentinelHasAnAnswer reads the sources, because a sentinel that
// nobody thought of is one that no list of values would hold.
func TestEverySentinelHasAnAnswer(t *testing.T) {
	t.Parallel()
	source, err := os.ReadFile("errors.go")
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, pkg := range []string{"coupon", "order", "lock"} {
		for _, name := range sentinels(t, filepath.Join("..", pkg)) {
			found++
			if !strings.Contains(string(source), "{"+pkg+"."+name+",") {
				t.Errorf("%s.%s is not in the table", pkg, name)
			}
		}
	}
	if found < 10 {
		t.Errorf("found only %d sentinels: the test looks in the wrong place", found)
	}
	for _, v := range verdicts {
		if got := problemOf(fmt.Errorf("somewhere: %w", v.err)); got.Code != v.problem.Code {
			t.Errorf("%v: got %s, want %s", v.err, got.Code, v.problem.Code)
		}
	}
}

// sentinels are the exported Err… variables of the package in dir.
func sentinels(tb testing.TB, dir string) (names []string) {
	tb.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		tb.Fatal(err)
	}
	for _, path := range files {
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
		if err != nil {
			tb.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			spec, ok := n.(*ast.ValueSpec)
			for i := 0; ok && i < len(spec.Names); i++ {
				if name := spec.Names[i].Name; strings.HasPrefix(name, "Err") && !strings.HasSuffix(path, "_test.go") {
					names = append(names, name)
				}
			}
			return !ok
		})
	}
	return names
}

func TestUnknownErrorIsNoVerdict(t *testing.T) {
	t.Parallel()
	for err, want := range map[error]*Problem{
		errors.New("who knows"): internal,
		fmt.Errorf("coupon 1: find: %w", context.DeadlineExceeded): unavailable,
	} {
		if got := problemOf(err); got != want {
			t.Errorf("%v: got %v, want %v", err, got, want)
		}
	}
}

func TestCauseStaysInTheLog(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	if _, err := f.db.Exec("DROP TABLE coupons"); err != nil {
		t.Fatal(err)
	}
	a := f.do("GET", "/coupons/1", user(t, 42), "")
	wantProblem(t, a, 500, "internal")
	if strings.Contains(a.Body.String(), "coupons") || strings.Contains(a.Body.String(), "1146") {
		t.Errorf("the cause leaked: %s", a.Body)
	}
	if !strings.Contains(f.log.String(), "1146") || strings.Count(f.log.String(), "\n") != 1 {
		t.Errorf("the log must hold the cause, once: %s", f.log)
	}
}

func TestPanicIsAProblem(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.Coupons = nil
	a := f.do("GET", "/coupons/1", user(t, 42), "")
	wantProblem(t, a, 500, "internal")
	if !strings.Contains(f.log.String(), "coupons.go") {
		t.Errorf("no stack in the log: %s", f.log)
	}
}

func TestMissingServerIsUnavailable(t *testing.T) {
	t.Parallel()
	server := labtest.MySQL(t)
	dsn := labtest.EmptyDatabase(t, server)
	f := newFixtureOn(t, dsn)
	if err := migrations.Up(t.Context(), f.db.DB); err != nil {
		t.Fatal(err)
	}
	id := f.onSale(t, 1)
	server.Kill()
	for _, a := range []answer{
		f.claim(id, user(t, 42)),
		f.do("GET", "/coupons/"+id, user(t, 42), ""),
		f.do("GET", "/orders", user(t, 42), ""),
	} {
		wantProblem(t, a, 503, "unavailable")
		if a.Header().Get("Retry-After") == "" {
			t.Errorf("no Retry-After: %v", a)
		}
	}
	if n := strings.Count(f.log.String(), "msg=unavailable"); n < 1 || n > 2 {
		t.Errorf("%d complaints in the log, want one for each second: %s", n, f.log)
	}
}

func TestBadInputNamesTheField(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	id := f.onSale(t, 1)
	const good = `"name":"a","begin_time":"2026-11-11T00:00:00Z","end_time":"2026-11-12T00:00:00Z","stock":1`
	huge := strings.Repeat("9", 30)
	for _, step := range []struct{ method, path, body, in, field string }{
		{"POST", "/coupons/x/orders", "", "path", "id"},
		{"POST", "/coupons/0/orders", "", "path", "id"},
		{"POST", "/coupons/-1/orders", "", "path", "id"},
		{"POST", "/coupons/+1/orders", "", "path", "id"},
		{"POST", "/coupons/1.0/orders", "", "path", "id"},
		{"POST", "/coupons/%31%20/orders", "", "path", "id"},
		{"POST", "/coupons/" + huge + "/orders", "", "path", "id"},
		{"GET", "/orders/x", "", "path", "id"},
		{"GET", "/coupons/x/audit", "", "path", "id"},
		{"GET", "/orders?limit=0", "", "query", "limit"},
		{"GET", "/orders?limit=101", "", "query", "limit"},
		{"GET", "/coupons?before=x", "", "query", "before"},
		{"POST", "/coupons/" + id + "/stock", `{"add":0}`, "body", "add"},
		{"POST", "/coupons/" + id + "/stock", `{"add":"1"}`, "body", "add"},
		{"POST", "/coupons/" + id + "/stock", `{"add":1000000000}`, "body", "add"},
		{"POST", "/coupons/" + id + "/stock", `{}`, "body", "add"},
		{"POST", "/coupons", `{` + strings.Replace(good, `"stock":1`, `"stock":-1`, 1) + `}`, "body", "stock"},
		{"POST", "/coupons", `{` + strings.Replace(good, `"stock":1`, `"stock":1.5`, 1) + `}`, "body", "stock"},
		{"POST", "/coupons", `{` + strings.Replace(good, `"stock":1`, `"stock":`+huge, 1) + `}`, "body", "stock"},
		{"POST", "/coupons", `{` + strings.Replace(good, `"stock":1`, `"stock":1e3`, 1) + `}`, "body", "stock"},
		{"POST", "/coupons", `{` + strings.Replace(good, `"stock":1`, `"stock":1.0`, 1) + `}`, "body", "stock"},
		{"POST", "/coupons", `{` + strings.Replace(good, `"name":"a"`, `"name":" "`, 1) + `}`, "body", "name"},
		{"POST", "/coupons", `{` + strings.Replace(good, `"name":"a",`, ``, 1) + `}`, "body", "name"},
		{"POST", "/coupons", `{` + strings.Replace(good, "11-12", "11-10", 1) + `}`, "body", "end_time"},
		{"POST", "/coupons", `{` + strings.Replace(good, "2026-11-11T", "yesterday", 1) + `}`, "body", "begin_time"},
		{"POST", "/coupons", `{` + good + `,"price":1}`, "body", "price"},
	} {
		a := f.do(step.method, step.path, boss(t), step.body)
		wantProblem(t, a, 422, "invalid_input")
		fields, _ := a.body["errors"].([]any)
		if len(fields) != 1 {
			t.Errorf("%s %s %s: want one entry: %v", step.method, step.path, step.body, a)
			continue
		}
		if e := fields[0].(map[string]any); e["in"] != step.in || e["field"] != step.field || e["message"] == "" {
			t.Errorf("%s %s %s: got %v, want %s %s", step.method, step.path, step.body, e, step.in, step.field)
		}
	}
}

func TestEveryFieldIsReported(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	a := f.do("POST", "/coupons", boss(t), `{"name":7,"begin_time":"x","stock":-1}`)
	wantProblem(t, a, 422, "invalid_input")
	for _, field := range []string{"name", "begin_time", "end_time", "stock"} {
		if !strings.Contains(a.Body.String(), `"field":"`+field+`"`) {
			t.Errorf("%s is missing: %s", field, a.Body)
		}
	}
}

func TestBadBodiesAreProblems(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	long := `{"name":"` + strings.Repeat("a", maxBody) + `"}`
	for name, step := range map[string]struct {
		contentType, body string
		chunked           bool
		status            int
		code              string
	}{
		"broken":       {"application/json", `{"name":`, false, 400, "invalid_json"},
		"empty":        {"application/json", ``, false, 400, "invalid_json"},
		"two":          {"application/json", `{}{}`, false, 400, "invalid_json"},
		"form":         {"application/x-www-form-urlencoded", `name=a`, false, 415, "unsupported_media_type"},
		"text":         {"text/plain", `{}`, false, 415, "unsupported_media_type"},
		"huge":         {"application/json", long, false, 413, "body_too_large"},
		"huge chunked": {"application/json", long, true, 413, "body_too_large"},
	} {
		t.Run(name, func(t *testing.T) {
			r := request("POST", "/coupons", boss(t), step.body, step.contentType)
			if step.chunked {
				r.ContentLength = -1
			}
			wantProblem(t, f.send(r), step.status, step.code)
		})
	}
	r := request("POST", "/coupons/1/orders", user(t, 1), long, "application/json")
	wantProblem(t, f.send(r), 413, "body_too_large")
}

func TestRouterSpeaksProblems(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	wantProblem(t, f.do("GET", "/nowhere", "", ""), 404, "route_not_found")
	wantProblem(t, f.do("GET", "/coupons/1/2/3", "", ""), 404, "route_not_found")
	wantProblem(t, f.do("GET", "/docs/nothing.js", "", ""), 404, "route_not_found")
	a := f.do("DELETE", "/coupons", "", "")
	wantProblem(t, a, 405, "method_not_allowed")
	if got := a.Header()["Allow"]; len(got) != 2 || got[0] != "GET" || got[1] != "POST" {
		t.Errorf("Allow: %v, want GET and POST", got)
	}
	if a := f.do("HEAD", "/livez", "", ""); a.Code != 200 {
		t.Errorf("HEAD: %v", a)
	}
}
