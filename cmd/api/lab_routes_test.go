package main

import (
	"encoding/json"
	"strings"
	"testing"

	"example.com/flashsale/internal/auth"
)

func TestRoutesOfTheLabAreServedInTheLabOnly(t *testing.T) {
	t.Parallel()
	for want, env := range map[int]map[string]string{
		404: {"LAB": "false"}, 200: {"LAB": "true", "COMMIT": "each", "CLAIM_PAUSE": "30ms"},
	} {
		t.Run("LAB="+env["LAB"], func(t *testing.T) {
			t.Parallel()
			i := start(t, environ(t, env)).ready(t)
			for _, path := range []string{"/v0/pview", "/v1/pview", "/v2/pview", "/v3/pview"} {
				wantStatus(t, i.post(t, path, "", ""), want)
				wantStatus(t, i.get(t, path, ""), want)
			}
			wantStatus(t, i.post(t, "/v4/pview", "", ""), 404)
			wantStatus(t, i.get(t, "/debug/sections", ""), want)
			if want == 200 {
				i.wantSection(t)
			}
		})
	}
}

// wantSection checks that the section of a claim that is named has the statements of its transaction, and
// what they read and changed.
func (i *instance) wantSection(t *testing.T) {
	t.Helper()
	path := "/coupons/" + i.createCoupon(t, 1) + "/orders"
	wantStatus(t, i.do(t, "POST", path, tokenFor(t, 42, auth.RoleUser), "", "X-Lab-Claim", "7"), 201)
	var report struct {
		Sections []struct {
			Claim, Key, User  string
			Granted, Released int64
			Steps             []struct {
				SQL, Result string
				Begin, End  int64
			}
		}
	}
	eventually(t, func() bool { // the lock is released after the response
		r := i.get(t, "/debug/sections", "")
		return json.Unmarshal([]byte(r.text), &report) == nil && len(report.Sections) == 1
	})
	if t.Failed() {
		return
	}
	s := report.Sections[0]
	want := [][2]string{{"START", "0"}, {"SELECT", ""}, {"UPDATE", "1"}, {"INSERT", "1"}, {"COMMIT", "0"}}
	if s.Claim != "7" || len(s.Steps) != len(want) || !strings.HasSuffix(s.Key, "redis_lock:userId:42") ||
		s.User != "42" || s.Released-s.Granted < 30_000 {
		t.Fatalf("section %+v", s)
	}
	for n, step := range s.Steps {
		if !strings.HasPrefix(step.SQL, want[n][0]) || step.Result != want[n][1] || step.Begin < s.Granted ||
			step.End < step.Begin || step.End > s.Released {
			t.Errorf("step %d is %+v, want %s", n, step, want[n])
		}
	}
}
