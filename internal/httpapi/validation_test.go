package httpapi

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"example.com/flashsale/internal/check"
)

// No input changes what another means, so that one API reads all.
func TestInput(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	t.Run("BadInputNamesTheField", f.badInputNamesTheField)
	t.Run("BadCouponNamesTheField", f.badCouponNamesTheField)
	t.Run("WholeNumbersAreAcceptedInEveryForm", f.wholeNumbersAreAcceptedInEveryForm)
	t.Run("TimesOfTheFirstYearAreAcceptedInEveryZone", f.timesOfTheFirstYearAreAcceptedInEveryZone)
	t.Run("ListOfBadFieldsIsBounded", f.listOfBadFieldsIsBounded)
	t.Run("EveryBadFieldIsReported", f.everyBadFieldIsReported)
	t.Run("BadBodiesAreProblems", f.badBodiesAreProblems)
	t.Run("OperationsWithoutABodyRefuseOne", f.operationsWithoutABodyRefuseOne)
	t.Run("AmbiguousBodyIsRefused", f.ambiguousBodyIsRefused)
}

func (f *fixture) badInputNamesTheField(t *testing.T) {
	id := f.createCoupon(t, 1)
	for _, path := range []string{"POST /coupons/x/orders", "POST /coupons/0/orders", "POST /coupons/-1/orders",
		"POST /coupons/+1/orders", "POST /coupons/1.0/orders", "POST /coupons/%31%20/orders",
		"POST /coupons/" + strings.Repeat("9", 30) + "/orders", "GET /orders/x", "GET /coupons/x/audit",
		"DELETE /orders/0", "PUT /orders/-1/use"} {
		method, path, _ := strings.Cut(path, " ")
		body := map[string]string{"PUT": `{"reference":"a"}`}[method]
		t.Log(method, path)
		wantField(t, f.do(method, path, adminToken(t), body), "path", "id")
	}
	for query, values := range map[string][]string{
		"GET /orders?limit":                      {"=0", "=101", "=", "=%2B5", "=05", "=5&limit=5"},
		"GET /coupons?before":                    {"=x", "=0", "=", "", "=1&before=2"},
		"GET /changes?coupon_id":                 {"=", "=0", "=1&coupon_id=2"},
		"GET /changes?limit":                     {"="},
		"GET /changes?before":                    {"=x"},
		"GET /coupons/" + id + "/orders?limit":   {"=0"},
		"POST /coupons/" + id + "/orders?number": {"=%ff", "=%00", "=%EF%BC%91"}, // the last is another script's 1
	} {
		method, path, _ := strings.Cut(query, " ")
		for _, value := range values {
			t.Log(query, value)
			wantField(t, f.do(method, path+value, adminToken(t), ""), "query", query[strings.Index(query, "?")+1:])
		}
	}
	wantField(t, f.do("GET", "/orders?limit=%", adminToken(t), ""), "query", "")
	for path, bodies := range map[string]map[string][]string{
		"POST /coupons/" + id + "/stock": {"add": {`{"add":0}`, `{"add":"1"}`, `{"add":1000000001}`, `{}`}},
		"PUT /orders/7/use": {"reference": {`{}`, `{"reference":7}`, `{"reference":null}`, `{"reference":"a\u0000"}`,
			`{"reference":"\u007f"}`}, "state": {`{"reference":"a","state":"used"}`}},
	} {
		method, path, _ := strings.Cut(path, " ")
		for field, bodies := range bodies {
			for _, body := range bodies {
				t.Log(method, path, body)
				wantField(t, f.do(method, path, adminToken(t), body), "body", field)
			}
		}
	}
}

// A coupon whose members are good but for one.
func (f *fixture) badCouponNamesTheField(t *testing.T) {
	for member, values := range map[string][]string{
		"stock":      {"-1", "1.5", strings.Repeat("9", 30), "1e-1"},
		"segments":   {"0", "2", "65", "1.5", "null"},
		"name":       {`" "`, `""`, `"a\u0000"`, `"a\n"`, `"a\u202eb"`, `"\u200b"`},
		"NAME":       {`"a"`},
		"price":      {"1"},
		"begin_time": {`"yesterday00:00:00Z"`, `"1999-11-11T00:00:00Z"`, `"2026-11-11T00:00:00,5Z"`},
		"end_time": {`"2026-11-10T00:00:00Z"`, `"2026-11-12T00:00:00+24:00"`, `"2026-11-12T00:00:00+00:60"`,
			`"2026-11-12t00:00:00z"`, `"2026-11-31T00:00:00Z"`, `"9999-12-31T23:00:00-12:00"`},
		"hold_seconds": {`"1h"`, "10.5", "9", "0", "2592001", "null"},
		"per_user":     {"0", "101", "null"},
		"returnable":   {"1", "null"},
	} {
		for _, value := range values {
			coupon := map[string]json.RawMessage{"name": []byte(`"a"`), "stock": []byte("1"),
				"begin_time": []byte(`"2026-11-11T00:00:00Z"`), "end_time": []byte(`"2026-11-12T00:00:00Z"`)}
			coupon[member] = []byte(value)
			body, err := json.Marshal(coupon)
			check.NoError(t, err)
			t.Logf("%s", body)
			wantField(t, f.do("POST", "/coupons", adminToken(t), string(body)), "body", member)
		}
	}
	wantField(t, f.do("POST", "/coupons", adminToken(t),
		`{"begin_time":"2026-11-11T00:00:00Z","end_time":"2026-11-12T00:00:00Z","stock":1}`), "body", "name")
}

// wantField checks that a response blames one field, and says why.
func wantField(tb testing.TB, r response, in, field string) {
	tb.Helper()
	wantProblem(tb, r, 422, "invalid_input")
	fields, _ := r.body["errors"].([]any)
	if len(fields) != 1 {
		tb.Errorf("want one entry: %v", r)
		return
	}
	e := fields[0].(map[string]any)
	if got, _ := e["field"].(string); e["in"] != in || got != field || e["message"] == "" {
		tb.Errorf("got %v, want %s %s", r, in, field)
	}
}

func (f *fixture) wholeNumbersAreAcceptedInEveryForm(t *testing.T) {
	for _, stock := range []string{"476", "476.0", "4.76e2", "47600E-2"} {
		r := f.do("POST", "/coupons", adminToken(t),
			`{"name":"a","begin_time":"2026-11-11T00:00:00Z","end_time":"2026-11-12T00:00:00Z","stock":`+stock+`}`)
		if r.Code != 201 || r.body["stock"] != 476.0 {
			t.Errorf("stock %s: %v", stock, r)
		}
	}
}

// The first year is that of the time as it is written, as in the schema.
func (f *fixture) timesOfTheFirstYearAreAcceptedInEveryZone(t *testing.T) {
	r := f.do("POST", "/coupons", adminToken(t),
		`{"name":"a","begin_time":"2000-01-01T00:00:00.125+14:00","end_time":"9999-12-31T23:59:59Z","stock":1}`)
	if r.Code != 201 || r.body["begin_time"] != "1999-12-31T10:00:00.125Z" {
		t.Errorf("got %v", r)
	}
}

func (f *fixture) listOfBadFieldsIsBounded(t *testing.T) {
	var members []string
	for i := range 700 {
		members = append(members, fmt.Sprintf(`"m%d":0`, i))
	}
	r := f.do("POST", "/coupons", adminToken(t), "{"+strings.Join(members, ",")+"}")
	wantProblem(t, r, 422, "invalid_input")
	if fields := r.body["errors"].([]any); len(fields) != 20 || !strings.Contains(r.Body.String(), `"field":"stock"`) {
		t.Errorf("%d fields: %s", len(fields), r.Body)
	}
}

func (f *fixture) everyBadFieldIsReported(t *testing.T) {
	r := f.do("POST", "/coupons", adminToken(t), `{"name":7,"begin_time":"x","stock":-1}`)
	wantProblem(t, r, 422, "invalid_input")
	for _, field := range []string{"name", "begin_time", "end_time", "stock"} {
		if !strings.Contains(r.Body.String(), `"field":"`+field+`"`) {
			t.Errorf("%s is missing: %s", field, r.Body)
		}
	}
}

func (f *fixture) badBodiesAreProblems(t *testing.T) {
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
		"suffix":       {"application/problem+json", `{}`, false, 415, "unsupported_media_type"},
		"parameter":    {"application/json; charset", `{}`, false, 415, "unsupported_media_type"},
		"upper case":   {"Application/JSON; Charset=utf-8", `{}`, false, 422, "invalid_input"},
		"huge number":  {"application/json", `{"stock":1e400}`, false, 400, "invalid_json"},
		"not UTF-8":    {"application/json", "{\"name\":\"\xff\"}", false, 400, "invalid_json"},
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
	zipped := request("POST", "/coupons", adminToken(t), `{}`, "application/json")
	zipped.Header.Set("Content-Encoding", "gzip")
	wantProblem(t, f.send(zipped), 415, "unsupported_media_type")
}

// The token is not looked at: who waits for a body has proven nothing.
func (f *fixture) operationsWithoutABodyRefuseOne(t *testing.T) {
	for path, methods := range f.spec.Paths {
		for method, op := range methods {
			if op.RequestBody != nil {
				continue
			}
			for _, length := range []int64{2, -1} {
				r := request(strings.ToUpper(method), strings.NewReplacer("{id}", "7").Replace(path), "", `{}`, "")
				r.ContentLength = length
				wantProblem(t, f.send(r), 413, "body_too_large")
			}
			if op.Responses["413"].Content == nil {
				t.Errorf("%s %s does not document it", method, path)
			}
		}
	}
}
