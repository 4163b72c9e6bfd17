package httpapi

import (
	"strings"
	"testing"
)

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
