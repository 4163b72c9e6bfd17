package race

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"example.com/flashsale/internal/check"
	"example.com/flashsale/loadtest/experiments/race/page"
)

// serveWithoutServers serves a session that has no stack, for what needs none.
func serveWithoutServers(t *testing.T) *client {
	t.Helper()
	s := &session{ctx: t.Context()}
	return &client{t, s, serve(t, s)}
}

func valid() Request {
	s := side("redis", "user", "stock", "unique")
	return Request{Workload{Users: 10, ClaimsPerUser: 2, PerUser: 1, Stock: 5, Segments: 1}, []Settings{s, s}}
}

func TestWrongChoicesAreRefusedByName(t *testing.T) {
	t.Parallel()
	c := serveWithoutServers(t)
	c.refused(valid, map[string]func(*Request){
		"workload.users":           func(r *Request) { r.Workload.Users = 0 },
		"workload.claims_per_user": func(r *Request) { r.Workload.Users, r.Workload.ClaimsPerUser = 1000, 21 },
		"workload.per_user":        func(r *Request) { r.Workload.PerUser = limits.PerUser + 1 },
		"workload.stock":           func(r *Request) { r.Workload.Stock = -1 },
		"workload.segments":        func(r *Request) { r.Workload.Segments = 6 },
		"sides":                    func(r *Request) { r.Sides = append(r.Sides, r.Sides[0], r.Sides[0], r.Sides[0]) },
		"workload.pause_ms":        func(r *Request) { r.Workload.PauseMS = limits.PauseMS + 1 },
		"sides.0.lock":             func(r *Request) { r.Sides[0].Lock = "mutex" },
		"sides.1.lock_scope":       func(r *Request) { r.Sides[1].LockScope = "" },
		"sides.0.guards":           func(r *Request) { r.Sides[0].Guards, r.Sides[0].Commit = nil, "grouped" },
		"sides.1.guards":           func(r *Request) { r.Sides[1].Guards = []string{"stock", "stock"} },
		"sides.0.commit":           func(r *Request) { r.Sides[0].Commit = "each_unguarded" },
		"sides.1.instances":        func(r *Request) { r.Sides[1].Instances = 5 },
		"sides.0.redis":            func(r *Request) { r.Sides[0].Lock, r.Sides[0].Redis = "mysql", "cluster" },
		"sides.1.redis":            func(r *Request) { r.Sides[1].Redis = "ring" },
	})
	c.refused(suspendedHolder, map[string]func(*Request){ // faults that cannot strike, or not be seen
		"sides.0.fault":     func(r *Request) { r.Sides[0].Lock, r.Sides[0].Fault = "etcd", emptied },
		"sides.1.fault":     func(r *Request) { r.Sides[1].Lock = "local" },
		"sides.0.lease_ms":  func(r *Request) { r.Sides[0].LeaseMS = 30000 },
		"workload.pause_ms": func(r *Request) { r.Workload.PauseMS = 0 }, // of both sides
	})
	r := valid()
	r.Workload = Workload{Users: 100, ClaimsPerUser: 10, PerUser: 1, Stock: 1, Segments: 1, PauseMS: 100}
	r.Sides[1].LockScope = "coupon"
	if status, body := c.post(r); status != 400 || !strings.Contains(body, "one after the other") {
		t.Errorf("a queue of 105 s: %d %s", status, body)
	}
	for _, body := range []string{`"a race"`, `{"workload":{"users":"ten"}}`, `{"unknown":1}`} {
		if status, text := c.post(json.RawMessage(body)); status != 400 || !strings.Contains(text, "bad_request") {
			t.Errorf("%s: %d %s", body, status, text)
		}
	}
}

// refused expects that each change of a request is refused, and named by its field alone.
func (c *client) refused(request func() Request, changes map[string]func(*Request)) {
	c.t.Helper()
	for field, change := range changes {
		r := request()
		change(&r)
		status, body := c.post(r)
		var p Problem
		if err := json.Unmarshal([]byte(body), &p); err != nil || status != 400 || p.Code != "invalid_race" ||
			len(p.Errors) != 1 || p.Errors[0].Field != field {
			c.t.Errorf("%s: %d %s", field, status, body)
		}
	}
}

// limited reports whether a race is of a limit of several, which a lock keeps.
func limited(r Request) bool { return r.Workload.PerUser > 1 && r.Sides[1].Lock == "redis" }

// Every preset must be a request that is accepted.
func TestPresetsAreAccepted(t *testing.T) {
	t.Parallel()
	all := presets()
	if s := all[0].Sides; s[0].Lock != "none" || s[1].Lock != "redis" || slices.Contains(s[0].Guards, "unique") {
		t.Errorf("the page opens with %+v", all[0])
	}
	for i, p := range all {
		same := func(other Request) bool { return sameJSON(p, other) }
		if wrong := validate(p); len(wrong) > 0 || slices.ContainsFunc(all[:i], same) {
			t.Errorf("%+v: %+v, or not the only one", p, wrong)
		}
	}
	if len(all) < 10 || !slices.ContainsFunc(all, limited) {
		t.Errorf("%d presets, or none with a limit: %+v", len(all), all)
	}
}

// DNS rebinding makes a browser send another site's requests here, with that
// site's name as the host. Other pages can send requests, but not read them.
func TestOtherSitesAreRefused(t *testing.T) {
	t.Parallel()
	c := serveWithoutServers(t)
	for _, r := range []struct {
		method, host, origin, site, contentType string
		want                                    int
	}{
		{"GET", "", "", "", "", 200},
		{"GET", "attacker.example", "", "", "", 421},
		{"GET", "attacker.example:8090", "", "", "", 421},
		{"POST", "", "", "", "application/json", 400},
		{"POST", "", c.url, "same-origin", "application/json", 400},
		{"POST", "", "http://attacker.example", "", "application/json", 403},
		{"POST", "", "http://127.0.0.1:1", "same-site", "application/json", 403},
		{"POST", "", "null", "cross-site", "application/json", 403},
	} {
		req, err := http.NewRequest(r.method, c.url+"/races", strings.NewReader("{}"))
		check.NoError(t, err)
		if r.host != "" {
			req.Host = r.host
		}
		for name, value := range map[string]string{"Origin": r.origin, "Sec-Fetch-Site": r.site,
			"Content-Type": r.contentType} {
			if value != "" {
				req.Header.Set(name, value)
			}
		}
		resp, err := http.DefaultClient.Do(req)
		check.NoError(t, err)
		_ = resp.Body.Close()
		if resp.StatusCode != r.want {
			t.Errorf("%+v: %s", r, resp.Status)
		}
		if resp.Header.Get("Content-Security-Policy") != page.Policy ||
			resp.Header.Get("Access-Control-Allow-Origin") != "" {
			t.Errorf("%+v: headers %v", r, resp.Header)
		}
	}
}

func TestPageIsServedAndNothingElseIs(t *testing.T) {
	t.Parallel()
	c := serveWithoutServers(t)
	for path, want := range map[string]string{
		"/": "text/html", "/page/main.js": "text/javascript", "/page/style.css": "text/css", "/race.html": "text/html",
		"/page/page.go": "text/plain", "/nothing": "text/plain", "/races/7": problem, "/races/7/events": problem,
	} {
		resp, err := http.Get(c.url + path)
		check.NoError(t, err)
		body, err := io.ReadAll(resp.Body)
		check.NoError(t, errors.Join(err, resp.Body.Close()))
		found := want != problem && want != "text/plain"
		if found != (resp.StatusCode == 200) || !found && resp.StatusCode != 404 || len(body) == 0 ||
			!strings.HasPrefix(resp.Header.Get("Content-Type"), want) {
			t.Errorf("%s: %s, %s", path, resp.Status, resp.Header.Get("Content-Type"))
		}
	}
}

const problem = "application/problem+json"
