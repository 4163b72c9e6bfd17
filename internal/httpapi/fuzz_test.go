package httpapi

import (
	"encoding/json"
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

// Whatever the body, POST /coupons creates a valid coupon that is read as it was
// written, or replies with a problem that blames the client.
func FuzzCreateCoupon(f *testing.F) {
	const times = `"begin_time":"2026-11-11T00:00:00Z","end_time":"2026-11-12T00:00:00Z"`
	for _, body := range []string{
		`{"name":"100 off",` + times + `,"stock":100}`, `{"name":"` + "\x00" + `",` + times + `,"stock":0}`,
		`{"name":"\u0000\ud800",` + times + `,"stock":1}`,
		`{"name":"a","name":"b",` + times + `,"stock":1}`, `{"NAME":"a",` + times + `,"stock":1}`,
		`{"name":"a",` + times + `,"stock":1e400}`,
		`{"name":"a",` + times + `,"stock":1.0}`, `{"name":"a",` + times + `,"stock":1e3}`,
		`{"name":"a",` + times + `,"stock":-1}`,
		`{"name":"a",` + times + `,"stock":99999999999999999999}`,
		`{"name":"a","begin_time":"0000-01-01T00:00:00Z","end_time":"9999-12-31T23:59:59.999999999Z","stock":1}`,
		`{"name":"a","begin_time":"2026-11-11T00:00:00,5Z","end_time":"2026-11-12T00:00:00+24:00","stock":1}`,
		`{"name":" ",` + times + `,"stock":null}`,
		`{"name":"a","begin_time":"2026-11-11T24:00:00Z","end_time":"2026-11-12T00:00:60Z","stock":1}`, `{}`, `[]`,
		`null`, `{"name":`, "", "\xff", `{"a":{"a":{}}}`,
	} {
		f.Add([]byte(body))
	}
	api := newFixture(f)
	f.Fuzz(func(t *testing.T, body []byte) {
		api.tb = t
		r := api.do("POST", "/coupons", adminToken(t), string(body))
		if r.Code != 201 {
			if r.Code < 400 || r.Code >= 500 || r.id("code") == "" ||
				r.Header().Get("Content-Type") != "application/problem+json" {
				t.Fatalf("%q: %v", body, r)
			}
			return
		}
		var written struct {
			Name      string    `json:"name"`
			BeginTime time.Time `json:"begin_time"`
			EndTime   time.Time `json:"end_time"`
			Stock     float64   `json:"stock"` // may be written as 1.0
		}
		var created, read Coupon
		if err := json.Unmarshal(body, &written); err != nil {
			t.Fatalf("%q is accepted: %v", body, err)
		}
		again := api.do("GET", r.Header().Get("Location"), adminToken(t), "")
		if err := json.Unmarshal(again.Body.Bytes(), &read); err != nil || again.Code != 200 {
			t.Fatalf("%q: %v, %v", body, again, err)
		}
		if err := json.Unmarshal(r.Body.Bytes(), &created); err != nil || created != read {
			t.Errorf("%q: created %+v, read %+v, %v", body, created, read, err)
		}
		if n := utf8.RuneCountInString(read.Name); n < 1 || n > 100 || read.Name != strings.TrimSpace(written.Name) ||
			float64(read.Stock) != written.Stock || read.InitialStock != read.Stock {
			t.Errorf("%q: %+v", body, read)
		}
		if !read.BeginTime.Before(read.EndTime) || apart(read.BeginTime, written.BeginTime) ||
			apart(read.EndTime, written.EndTime) {
			t.Errorf("%q: %+v", body, read)
		}
	})
}

// apart reports whether times differ by more than the database's precision.
func apart(a, b time.Time) bool { return a.Sub(b).Abs() >= time.Millisecond }
