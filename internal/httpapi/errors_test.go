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

// The test reads the sources to find the sentinels, because a list of values
// could be incomplete.
func TestEverySentinelHasAProblem(t *testing.T) {
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
		t.Errorf("found only %d sentinels, so the test reads the wrong files", found)
	}
	for _, v := range problems {
		if got := problemOf(fmt.Errorf("somewhere: %w", v.err)); got.Code != v.problem.Code {
			t.Errorf("%v: got %s, want %s", v.err, got.Code, v.problem.Code)
		}
	}
}

// sentinels returns the exported Err… variables of the package in dir.
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

func TestUnknownErrorIsInternal(t *testing.T) {
	t.Parallel()
	for err, want := range map[error]*Problem{
		errors.New("unknown"): internal,
		fmt.Errorf("coupon 1: find: %w", context.DeadlineExceeded): unavailable,
	} {
		if got := problemOf(err); got != want {
			t.Errorf("%v: got %v, want %v", err, got, want)
		}
	}
}

func TestCauseIsLoggedAndNotSent(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	if _, err := f.db.Exec("DROP TABLE coupons"); err != nil {
		t.Fatal(err)
	}
	r := f.do("GET", "/coupons/1", userToken(t, 42), "")
	wantProblem(t, r, 500, "internal")
	if strings.Contains(r.Body.String(), "coupons") || strings.Contains(r.Body.String(), "1146") {
		t.Errorf("the cause was sent: %s", r.Body)
	}
	if !strings.Contains(f.log.String(), "1146") || strings.Count(f.log.String(), "\n") != 1 {
		t.Errorf("the log must contain the cause once: %s", f.log)
	}
}

func TestPanicIsAnInternalError(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.cfg.Coupons = nil
	r := f.do("GET", "/coupons/1", userToken(t, 42), "")
	wantProblem(t, r, 500, "internal")
	if !strings.Contains(f.log.String(), "coupons.go") {
		t.Errorf("no stack in the log: %s", f.log)
	}
}

func TestUnavailableServerIsA503(t *testing.T) {
	t.Parallel()
	server := labtest.MySQL(t)
	dsn := labtest.EmptyDatabase(t, server)
	f := newFixtureWith(t, dsn)
	if err := migrations.Up(t.Context(), f.db.DB); err != nil {
		t.Fatal(err)
	}
	id := f.createCoupon(t, 1)
	server.Kill()
	for _, r := range []response{
		f.claim(id, userToken(t, 42)),
		f.do("GET", "/coupons/"+id, userToken(t, 42), ""),
		f.do("GET", "/orders", userToken(t, 42), ""),
	} {
		wantProblem(t, r, 503, "unavailable")
		if r.Header().Get("Retry-After") == "" {
			t.Errorf("no Retry-After: %v", r)
		}
	}
	if n := strings.Count(f.log.String(), "msg=unavailable"); n < 1 || n > 2 {
		t.Errorf("%d log entries, want one per second: %s", n, f.log)
	}
}

func TestBadInputNamesTheField(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	id := f.createCoupon(t, 1)
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
		r := f.do(step.method, step.path, adminToken(t), step.body)
		wantProblem(t, r, 422, "invalid_input")
		fields, _ := r.body["errors"].([]any)
		if len(fields) != 1 {
			t.Errorf("%s %s %s: want one entry: %v", step.method, step.path, step.body, r)
			continue
		}
		if e := fields[0].(map[string]any); e["in"] != step.in || e["field"] != step.field || e["message"] == "" {
			t.Errorf("%s %s %s: got %v, want %s %s", step.method, step.path, step.body, e, step.in, step.field)
		}
	}
}

func TestEveryBadFieldIsReported(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	r := f.do("POST", "/coupons", adminToken(t), `{"name":7,"begin_time":"x","stock":-1}`)
	wantProblem(t, r, 422, "invalid_input")
	for _, field := range []string{"name", "begin_time", "end_time", "stock"} {
		if !strings.Contains(r.Body.String(), `"field":"`+field+`"`) {
			t.Errorf("%s is missing: %s", field, r.Body)
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
			r := request("POST", "/coupons", adminToken(t), step.body, step.contentType)
			if step.chunked {
				r.ContentLength = -1
			}
			wantProblem(t, f.send(r), step.status, step.code)
		})
	}
	r := request("POST", "/coupons/1/orders", userToken(t, 1), long, "application/json")
	wantProblem(t, f.send(r), 413, "body_too_large")
}

func TestRoutingErrorsAreProblems(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	wantProblem(t, f.do("GET", "/nowhere", "", ""), 404, "route_not_found")
	wantProblem(t, f.do("GET", "/coupons/1/2/3", "", ""), 404, "route_not_found")
	wantProblem(t, f.do("GET", "/docs/nothing.js", "", ""), 404, "route_not_found")
	r := f.do("DELETE", "/coupons", "", "")
	wantProblem(t, r, 405, "method_not_allowed")
	if got := r.Header()["Allow"]; len(got) != 2 || got[0] != "GET" || got[1] != "POST" {
		t.Errorf("Allow: %v, want GET and POST", got)
	}
	if r := f.do("HEAD", "/livez", "", ""); r.Code != 200 {
		t.Errorf("HEAD: %v", r)
	}
}
