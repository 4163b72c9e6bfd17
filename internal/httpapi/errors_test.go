package httpapi

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"example.com/flashsale/internal/admission"
	"example.com/flashsale/internal/auth"
	"example.com/flashsale/internal/check"
	"example.com/flashsale/internal/coupon"
	"example.com/flashsale/internal/idgen"
	"example.com/flashsale/internal/lab/labtest"
	"example.com/flashsale/internal/order"
)

// causes returns a request for each error of the table problems, by which the
// real packages return that error. Most of them are claims.
func causes(t *testing.T) map[error]func(*fixture) response {
	return map[error]func(*fixture) response{
		auth.ErrNoToken:      func(f *fixture) response { return f.claim(f.createCoupon(t, 1), "") },
		auth.ErrInvalidToken: func(f *fixture) response { return f.claim(f.createCoupon(t, 1), "garbage") },
		coupon.ErrSoldOut:    func(f *fixture) response { return f.claim(f.createCoupon(t, 0), userToken(t, 42)) },
		order.ErrAlreadyClaimed: func(f *fixture) response {
			id := f.createCoupon(t, 2)
			f.claim(id, userToken(t, 42))
			return f.claim(id, userToken(t, 42))
		},
		order.ErrClaimInProgress: func(f *fixture) response {
			if _, err := f.locker.TryLock(t.Context(), "redis_lock:userId:42", time.Minute); err != nil {
				t.Fatal(err)
			}
			return f.claim(f.createCoupon(t, 1), userToken(t, 42))
		},
		coupon.ErrNotStarted: func(f *fixture) response {
			return f.claim(f.createCouponFrom(t, time.Hour, 2*time.Hour, 1), userToken(t, 42))
		},
		coupon.ErrEnded: func(f *fixture) response {
			return f.claim(f.createCouponFrom(t, -2*time.Hour, -time.Hour, 1), userToken(t, 42))
		},
		coupon.ErrNotFound: func(f *fixture) response { return f.claim("7", userToken(t, 42)) },
		coupon.ErrStockLimit: func(f *fixture) response {
			return f.do("POST", "/coupons/"+f.createCoupon(t, 1)+"/stock", adminToken(t),
				fmt.Sprintf(`{"add":%d}`, coupon.MaxStock))
		},
		coupon.ErrInvalid: func(f *fixture) response {
			return f.do("POST", "/coupons", adminToken(t),
				`{"name":" ","begin_time":"2026-11-11T00:00:00Z","end_time":"2026-11-12T00:00:00Z","stock":1}`)
		},
		idgen.ErrExhausted: func(f *fixture) response {
			rdb := labtest.DialURL(t, labtest.SharedRedis(t).URL)
			name := labtest.Name(t)
			for _, day := range []time.Time{time.Now(), time.Now().AddDate(0, 0, 1)} {
				rdb.HSet(t.Context(), name+":"+day.UTC().Format("2006:01:02"), "s", uint32(math.MaxUint32))
			}
			f.cfg.CouponIDs = idgen.New(rdb, name)
			return f.do("POST", "/coupons", adminToken(t),
				`{"name":"n","begin_time":"2026-11-11T00:00:00Z","end_time":"2026-11-12T00:00:00Z","stock":1}`)
		},
		coupon.ErrIDTaken: func(f *fixture) response {
			f.db.MustExec(`ALTER TABLE coupons ADD UNIQUE KEY stands_for_the_primary (name)`)
			f.createOnce(t, "k", 1)
			return f.createOnce(t, "l", 1)
		},
		coupon.ErrKeyReused: func(f *fixture) response {
			f.createOnce(t, "k", 1)
			return f.createOnce(t, "k", 2)
		},
		coupon.ErrKeyInProgress:  func(f *fixture) response { return f.createWhileHeld(t) },
		coupon.ErrUnknown:        func(f *fixture) response { return f.createUnknown(t, "") },
		coupon.ErrUnknownWithKey: func(f *fixture) response { return f.createUnknown(t, "k") },
		order.ErrNotFound:        func(f *fixture) response { return f.do("GET", "/orders/7", userToken(t, 42), "") },
		order.ErrLimitReached: func(f *fixture) response {
			return f.do("POST", "/coupons/"+f.createCoupon(t, 2)+"/orders?number=2", userToken(t, 42), "")
		},
		order.ErrUsed: func(f *fixture) response {
			id := f.claimed(t, `"returnable":true`)
			f.do("PUT", "/orders/"+id+"/use", clerkToken(t), `{"reference":"1"}`)
			return f.do("DELETE", "/orders/"+id, userToken(t, 42), "")
		},
		order.ErrReturned: func(f *fixture) response {
			id := f.claimed(t, `"returnable":true`)
			f.do("DELETE", "/orders/"+id, userToken(t, 42), "")
			return f.do("PUT", "/orders/"+id+"/use", clerkToken(t), `{"reference":"1"}`)
		},
		order.ErrExpired: func(f *fixture) response {
			id := f.claimed(t, `"hold_seconds":10`)
			f.db.MustExec(`UPDATE coupon_orders SET expires_at = UTC_TIMESTAMP(3)`)
			return f.do("PUT", "/orders/"+id+"/use", clerkToken(t), `{"reference":"1"}`)
		},
		order.ErrNotReturnable: func(f *fixture) response {
			return f.do("DELETE", "/orders/"+f.claimed(t, `"per_user":2`), userToken(t, 42), "")
		},
		order.ErrOutcomeUnknown: func(f *fixture) response {
			_ = f.db.Close()
			return f.do("DELETE", "/orders/7", userToken(t, 42), "")
		},
		coupon.ErrNoRules: func(f *fixture) response {
			f.db.MustExec(`UPDATE schema_compatibility SET oldest = 1`)
			return f.do("POST", "/coupons", adminToken(t), `{"name":"x","stock":1,"per_user":2,`+
				`"begin_time":"2026-11-11T00:00:00Z","end_time":"2026-11-12T00:00:00Z"}`)
		},
		admission.ErrOverloaded: func(f *fixture) response {
			couponID, _ := f.overload(t)
			return f.claim(couponID, userToken(t, 42))
		},
		order.ErrUnavailable: func(f *fixture) response {
			id := f.createCoupon(t, 1)
			_ = f.db.Close()
			return f.claim(id, userToken(t, 42))
		},
	}
}

// claimed returns the id of user 42's order for a coupon with rules.
func (f *fixture) claimed(tb testing.TB, rules string) string {
	tb.Helper()
	r := f.claim(f.createRuled(tb, 5, rules), userToken(tb, 42))
	if r.Code != 201 {
		tb.Fatalf("claim: %v", r)
	}
	return r.id("id")
}

func TestEveryRowOfTheTableIsReachable(t *testing.T) {
	t.Parallel()
	for _, row := range problems {
		t.Run(row.err.Error(), func(t *testing.T) {
			t.Parallel()
			cause, ok := causes(t)[row.err]
			if !ok {
				t.Fatal("no request leads to this error")
			}
			wantProblem(t, cause(newFixture(t)), row.problem.Status, row.problem.Code)
		})
	}
}

// notReplied lists the sentinels that no operation returns, with the reason.
var notReplied = map[string]string{
	"order.ErrIDTaken":        "order takes another id, and is unavailable after some",
	"idgen.ErrInvalid":        "of the command api id",
	"transaction.ErrUnknown":  "commit reads back, and is unavailable",
	"transaction.ErrConflict": "transaction tries again, and is unavailable",
	"pageview.ErrStale":       "of the routes of the lab",
}

// A new sentinel in any package that the service's verdicts come from needs a row
// of the table, or a reason why not. The drivers' are not verdicts of the service.
func TestEverySentinelHasAProblem(t *testing.T) {
	t.Parallel()
	var known []string
	for err := range causes(t) {
		known = append(known, err.Error())
	}
	found := 0
	for _, dir := range packagesWithVerdicts(t) {
		for name, text := range labtest.Sentinels(t, dir) {
			name = filepath.Base(dir) + "." + name
			if notReplied[name] != "" {
				continue
			}
			found++
			if !slices.Contains(known, text) {
				t.Errorf("%s is not in the table", name)
			}
		}
	}
	if found != len(problems) {
		t.Errorf("found %d sentinels, but the table has %d rows", found, len(problems))
	}
}

// packagesWithVerdicts returns the directories of internal, without those of locks
// and of the lab.
func packagesWithVerdicts(t *testing.T) (dirs []string) {
	t.Helper()
	err := filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		if d != nil && d.IsDir() && slices.Contains([]string{"lock", "lab", "faultproxy", "testdata"}, d.Name()) {
			return fs.SkipDir
		}
		if d != nil && d.IsDir() {
			dirs = append(dirs, path)
		}
		return err
	})
	check.NoError(t, err)
	return dirs
}

func TestErrorsHaveTheirProblem(t *testing.T) {
	t.Parallel()
	for err, want := range map[error]*Problem{
		errors.New("unknown"): internal,
		fmt.Errorf("coupon 1: find: %w", context.DeadlineExceeded): unavailable,
		coupon.ErrUnknown:        changeUnknown,
		coupon.ErrUnknownWithKey: changeUnknownWithKey, // which may be repeated
	} {
		if got := problemOf(err); got != want {
			t.Errorf("%v: got %v, want %v", err, got, want)
		}
	}
	for left, want := range map[time.Duration]string{time.Millisecond: "1", 14500 * time.Millisecond: "15"} {
		if got := problemOf(&order.ClaimInProgressError{Left: left}).header.Get("Retry-After"); got != want {
			t.Errorf("%s left of a lock: Retry-After %s, want %s", left, got, want)
		}
	}
}

func TestCauseIsLoggedAndNotSent(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.db.MustExec("ALTER TABLE coupons DROP COLUMN name")
	r := f.do("GET", "/coupons/1", userToken(t, 42), "")
	wantProblem(t, r, 500, "internal")
	if strings.Contains(r.Body.String(), "c.name") || strings.Contains(r.Body.String(), "1054") {
		t.Errorf("the cause was sent: %s", r.Body)
	}
	if !strings.Contains(f.log.String(), "1054") || strings.Count(f.log.String(), "\n") != 1 {
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

func (f *fixture) routingErrorsAreProblems(t *testing.T) {
	wantProblem(t, f.do("GET", "/nowhere", "", ""), 404, "route_not_found")
	wantProblem(t, f.do("GET", "/coupons/1/2/3", "", ""), 404, "route_not_found")
	wantProblem(t, f.do("BREW", "/nowhere", "", ""), 404, "route_not_found")
	wantProblem(t, f.do("GET", "/docs/nothing.js", "", ""), 404, "route_not_found")
	for path, allow := range map[string]string{"/coupons": "GET, HEAD, POST", "/orders": "GET, HEAD",
		"/orders/1/use": "PUT", "/coupons/1/stock": "POST", "/coupons/1": "GET, HEAD, PATCH",
		"/coupons/1/orders": "GET, HEAD, POST", "/coupons/1%2Forders": "GET, HEAD, PATCH"} {
		r := f.do("DELETE", path, "", "")
		wantProblem(t, r, 405, "method_not_allowed")
		if got := r.Header().Get("Allow"); got != allow {
			t.Errorf("%s: Allow: %q, want %q", path, got, allow)
		}
	}
	wantStatus(t, f.do("HEAD", "/livez", "", ""), 200)
}
