package httpapi

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"example.com/flashsale/internal/auth"
	"example.com/flashsale/internal/coupon"
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
			return f.do("POST", "/coupons/"+f.createCoupon(t, 1)+"/stock", adminToken(t), fmt.Sprintf(`{"add":%d}`, coupon.MaxStock))
		},
		coupon.ErrInvalid: func(f *fixture) response {
			return f.do("POST", "/coupons", adminToken(t), `{"name":" ","begin_time":"2026-11-11T00:00:00Z","end_time":"2026-11-12T00:00:00Z","stock":1}`)
		},
		order.ErrNotFound:   func(f *fixture) response { return f.do("GET", "/orders/7", userToken(t, 42), "") },
		order.ErrOverloaded: func(f *fixture) response { return f.claim(f.overload(t), userToken(t, 42)) },
		order.ErrUnavailable: func(f *fixture) response {
			id := f.createCoupon(t, 1)
			_ = f.db.Close() // the other reasons are in TestClaimWithoutAServerIsUnavailable
			return f.claim(id, userToken(t, 42))
		},
	}
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

// The test reads the sources to find the sentinels, because a list of values
// could be incomplete.
func TestEverySentinelHasAProblem(t *testing.T) {
	t.Parallel()
	var known []string
	for err := range causes(t) {
		known = append(known, err.Error())
	}
	found := 0
	for _, pkg := range []string{"auth", "coupon", "order"} {
		for name, text := range sentinels(t, filepath.Join("..", pkg)) {
			found++
			if !slices.Contains(known, text) {
				t.Errorf("%s.%s is not in the table", pkg, name)
			}
		}
	}
	if found != len(problems) {
		t.Errorf("found %d sentinels, but the table has %d rows", found, len(problems))
	}
}

// sentinels returns the exported Err… variables of the package in dir, with
// their texts.
func sentinels(tb testing.TB, dir string) map[string]string {
	tb.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		tb.Fatal(err)
	}
	found := map[string]string{}
	sentinel := regexp.MustCompile(`(?m)^(?:var|\t)\s*(Err[A-Z]\w*)\s*=\s*errors\.New\("(.*)"\)`)
	for _, path := range files {
		source, err := os.ReadFile(path)
		if err != nil {
			tb.Fatal(err)
		}
		for _, match := range sentinel.FindAllStringSubmatch(string(source), -1) {
			found[match[1]] = match[2]
		}
	}
	return found
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

func TestRoutingErrorsAreProblems(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	wantProblem(t, f.do("GET", "/nowhere", "", ""), 404, "route_not_found")
	wantProblem(t, f.do("GET", "/coupons/1/2/3", "", ""), 404, "route_not_found")
	wantProblem(t, f.do("GET", "/docs/nothing.js", "", ""), 404, "route_not_found")
	for path, allow := range map[string]string{"/coupons": "GET, HEAD, POST", "/orders/1": "GET, HEAD", "/coupons/1/stock": "POST"} {
		r := f.do("DELETE", path, "", "")
		wantProblem(t, r, 405, "method_not_allowed")
		if got := r.Header().Get("Allow"); got != allow {
			t.Errorf("%s: Allow: %q, want %q", path, got, allow)
		}
	}
	if r := f.do("HEAD", "/livez", "", ""); r.Code != 200 {
		t.Errorf("HEAD: %v", r)
	}
}

func TestCreateWithoutTheRightsOnRedisIsUnavailable(t *testing.T) {
	t.Parallel()
	server := labtest.Redis(t)
	f := newFixtureOn(t, backend{redisURL: server.URL})
	if err := labtest.Dial(t, server).ConfigSet(t.Context(), "requirepass", "secret").Err(); err != nil {
		t.Fatal(err)
	}
	r := f.do("POST", "/coupons", adminToken(t), `{"name":"a","begin_time":"2026-11-11T00:00:00Z","end_time":"2026-11-12T00:00:00Z","stock":1}`)
	wantProblem(t, r, 503, "unavailable")
	if r.Header().Get("Retry-After") == "" {
		t.Errorf("no Retry-After: %v", r)
	}
}
