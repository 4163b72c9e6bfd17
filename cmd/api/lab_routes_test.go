package main

import (
	"encoding/json"
	"strings"
	"testing"

	"example.com/flashsale/internal/auth"
)

func TestRoutesOfTheLabAreServedInTheLabOnly(t *testing.T) {
	t.Parallel()
	for lab, want := range map[string]int{"false": 404, "true": 200} {
		t.Run("LAB="+lab, func(t *testing.T) {
			t.Parallel()
			i := start(t, environ(t, map[string]string{"LAB": lab})).ready(t)
			for _, path := range []string{"/v0/pview", "/v1/pview", "/v2/pview", "/v3/pview"} {
				wantStatus(t, i.post(t, path, "", ""), want)
				wantStatus(t, i.get(t, path, ""), want)
			}
			wantStatus(t, i.post(t, "/v4/pview", "", ""), 404)
			if lab == "false" {
				wantStatus(t, i.get(t, "/debug/sections", ""), 404)
			}
		})
	}
}

// The section of a claim that is named has the statements of its transaction, and what they
// read and changed.
func TestSectionsAreReported(t *testing.T) {
	t.Parallel()
	for _, lock := range []string{"none", "redis"} {
		t.Run("LOCK="+lock, func(t *testing.T) {
			t.Parallel()
			i := start(t, environ(t, map[string]string{"LAB": "true", "LOCK": lock, "COMMIT": "each",
				"CLAIM_PAUSE": "30ms"})).ready(t)
			id := i.createCoupon(t, 1)
			user := tokenFor(t, 42, auth.RoleUser)
			wantStatus(t, i.do(t, "POST", "/coupons/"+id+"/orders", user, "", "X-Lab-Claim", "7"), 201)
			i.wantSection(t)
		})
	}
}

func (i *instance) wantSection(t *testing.T) {
	t.Helper()
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
