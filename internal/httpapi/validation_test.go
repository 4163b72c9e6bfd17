package httpapi

import (
	"fmt"
	"strings"
	"testing"
)

// No input changes what another means, so that one API reads all.
func TestInput(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	t.Run("BadInputNamesTheField", f.badInputNamesTheField)
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
		{"GET", "/orders?limit=", "", "query", "limit"},
		{"GET", "/orders?limit=%2B5", "", "query", "limit"},
		{"GET", "/orders?limit=05", "", "query", "limit"},
		{"GET", "/orders?limit=5&limit=5", "", "query", "limit"},
		{"GET", "/orders?limit=%", "", "query", ""},
		{"GET", "/coupons?before=x", "", "query", "before"},
		{"GET", "/coupons?before=0", "", "query", "before"},
		{"GET", "/coupons?before=", "", "query", "before"},
		{"GET", "/coupons?before", "", "query", "before"},
		{"GET", "/coupons?before=1&before=2", "", "query", "before"},
		{"GET", "/changes?coupon_id=", "", "query", "coupon_id"},
		{"GET", "/changes?coupon_id=0", "", "query", "coupon_id"},
		{"GET", "/changes?coupon_id=1&coupon_id=2", "", "query", "coupon_id"},
		{"GET", "/changes?limit=", "", "query", "limit"},
		{"GET", "/changes?before=x", "", "query", "before"},
		{"GET", "/coupons/" + id + "/orders?limit=0", "", "query", "limit"},
		{"POST", "/coupons/" + id + "/stock", `{"add":0}`, "body", "add"},
		{"POST", "/coupons/" + id + "/stock", `{"add":"1"}`, "body", "add"},
		{"POST", "/coupons/" + id + "/stock", `{"add":1000000001}`, "body", "add"},
		{"POST", "/coupons/" + id + "/stock", `{}`, "body", "add"},
		{"POST", "/coupons", `{` + strings.Replace(good, `"stock":1`, `"stock":-1`, 1) + `}`, "body", "stock"},
		{"POST", "/coupons", `{` + good + `,"segments":0}`, "body", "segments"},
		{"POST", "/coupons", `{` + good + `,"segments":2}`, "body", "segments"},
		{"POST", "/coupons", `{` + good + `,"segments":65}`, "body", "segments"},
		{"POST", "/coupons", `{` + good + `,"segments":1.5}`, "body", "segments"},
		{"POST", "/coupons", `{` + good + `,"segments":null}`, "body", "segments"},
		{"POST", "/coupons", `{` + strings.Replace(good, `"stock":1`, `"stock":1.5`, 1) + `}`, "body", "stock"},
		{"POST", "/coupons", `{` + strings.Replace(good, `"stock":1`, `"stock":`+huge, 1) + `}`, "body", "stock"},
		{"POST", "/coupons", `{` + strings.Replace(good, `"stock":1`, `"stock":1e-1`, 1) + `}`, "body", "stock"},
		{"POST", "/coupons", `{` + strings.Replace(good, `"name":"a"`, `"name":" "`, 1) + `}`, "body", "name"},
		{"POST", "/coupons", `{` + strings.Replace(good, `"name":"a",`, ``, 1) + `}`, "body", "name"},
		{"POST", "/coupons", `{` + strings.Replace(good, "11-12", "11-10", 1) + `}`, "body", "end_time"},
		{"POST", "/coupons", `{` + strings.Replace(good, "2026-11-11T", "yesterday", 1) + `}`, "body", "begin_time"},
		{"POST", "/coupons", `{` + strings.Replace(good, "2026-11-11T", "1999-11-11T", 1) + `}`, "body", "begin_time"},
		{"POST", "/coupons", `{` + strings.Replace(good, "2026-11-11T00:00:00Z", "2026-11-11T00:00:00,5Z", 1) + `}`,
			"body", "begin_time"},
		{"POST", "/coupons", `{` + strings.Replace(good, "2026-11-12T00:00:00Z", "2026-11-12T00:00:00+24:00", 1) + `}`,
			"body", "end_time"},
		{"POST", "/coupons", `{` + strings.Replace(good, "2026-11-12T00:00:00Z", "2026-11-12T00:00:00+00:60", 1) + `}`,
			"body", "end_time"},
		{"POST", "/coupons", `{` + strings.Replace(good, "2026-11-12T00:00:00Z", "2026-11-12t00:00:00z", 1) + `}`,
			"body", "end_time"},
		{"POST", "/coupons", `{` + strings.Replace(good, "2026-11-12T00:00:00Z", "2026-11-31T00:00:00Z", 1) + `}`,
			"body", "end_time"},
		{"POST", "/coupons", `{` + strings.Replace(good, "2026-11-12T00:00:00Z", "9999-12-31T23:00:00-12:00", 1) + `}`,
			"body", "end_time"},
		{"POST", "/coupons", `{` + strings.Replace(good, `"name":"a"`, `"name":"a\u0000"`, 1) + `}`, "body", "name"},
		{"POST", "/coupons", `{` + strings.Replace(good, `"name":"a"`, `"name":"a\n"`, 1) + `}`, "body", "name"},
		{"POST", "/coupons", `{` + strings.Replace(good, `"name":"a"`, `"name":"a\u202eb"`, 1) + `}`, "body", "name"},
		{"POST", "/coupons", `{` + strings.Replace(good, `"name":"a"`, `"name":"\u200b"`, 1) + `}`, "body", "name"},
		{"POST", "/coupons", `{` + strings.Replace(good, `"name":"a"`, `"name":""`, 1) + `}`, "body", "name"},
		{"POST", "/coupons", `{` + strings.Replace(good, `"name":"a"`, `"NAME":"a"`, 1) + `,"name":"a"}`,
			"body", "NAME"},
		{"POST", "/coupons", `{` + good + `,"price":1}`, "body", "price"},
		{"POST", "/coupons", `{` + good + `,"per_user":null}`, "body", "per_user"},
		{"POST", "/coupons", `{` + good + `,"hold_seconds":"1h"}`, "body", "hold_seconds"},
		{"POST", "/coupons", `{` + good + `,"hold_seconds":10.5}`, "body", "hold_seconds"},
		{"POST", "/coupons", `{` + good + `,"hold_seconds":9}`, "body", "hold_seconds"},
		{"POST", "/coupons", `{` + good + `,"hold_seconds":0}`, "body", "hold_seconds"},
		{"POST", "/coupons", `{` + good + `,"hold_seconds":2592001}`, "body", "hold_seconds"},
		{"POST", "/coupons", `{` + good + `,"per_user":0}`, "body", "per_user"},
		{"POST", "/coupons", `{` + good + `,"per_user":101}`, "body", "per_user"},
		{"POST", "/coupons", `{` + good + `,"hold_seconds":null}`, "body", "hold_seconds"},
		{"POST", "/coupons", `{` + good + `,"returnable":1}`, "body", "returnable"},
		{"POST", "/coupons", `{` + good + `,"returnable":null}`, "body", "returnable"},
		{"POST", "/coupons/" + id + "/orders?number=%ff", "", "query", "number"},
		{"POST", "/coupons/" + id + "/orders?number=%00", "", "query", "number"},
		{"POST", "/coupons/" + id + "/orders?number=%EF%BC%91", "", "query", "number"}, // another script's 1
		{"DELETE", "/orders/0", "", "path", "id"},
		{"PUT", "/orders/-1/use", `{"reference":"a"}`, "path", "id"},
		{"PUT", "/orders/7/use", `{}`, "body", "reference"},
		{"PUT", "/orders/7/use", `{"reference":7}`, "body", "reference"},
		{"PUT", "/orders/7/use", `{"reference":null}`, "body", "reference"},
		{"PUT", "/orders/7/use", `{"reference":"a\u0000"}`, "body", "reference"},
		{"PUT", "/orders/7/use", `{"reference":"\u007f"}`, "body", "reference"},
		{"PUT", "/orders/7/use", `{"reference":"a","state":"used"}`, "body", "state"},
	} {
		t.Log(step.method, step.path, step.body)
		wantField(t, f.do(step.method, step.path, adminToken(t), step.body), step.in, step.field)
	}
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
	for path, methods := range served(t, f.API).Paths {
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
