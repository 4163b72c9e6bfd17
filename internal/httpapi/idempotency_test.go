package httpapi

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"example.com/flashsale/internal/check"
	"example.com/flashsale/internal/coupon"
	"example.com/flashsale/internal/faultproxy"
	"example.com/flashsale/internal/lab/labtest"
)

const commitCommand = "\x03COMMIT"

// A change is a request of an administrator that is sent with keys.
type change struct{ method, path, body string }

// changesOf returns a change for each operation of the document that has a key.
func (f *fixture) changesOf(t *testing.T, id string) (changes []change) {
	t.Helper()
	bodies := map[string]string{
		"POST /coupons":            createBody(4),
		"POST /coupons/{id}/stock": `{"add":50}`,
		"PATCH /coupons/{id}":      `{"name":"50 off"}`,
	}
	for path, operations := range f.spec.Paths {
		for method, op := range operations {
			route := strings.ToUpper(method) + " " + path
			if !op.has(keyHeader) {
				continue
			}
			if bodies[route] == "" {
				t.Errorf("%s takes a key, and no test sends one", route)
			}
			changes = append(changes, change{
				strings.ToUpper(method), strings.Replace(path, "{id}", id, 1), bodies[route],
			})
		}
	}
	return changes
}

func (op specOperation) has(parameter string) bool {
	return slices.ContainsFunc(op.Parameters, func(p specParameter) bool { return p.Name == parameter })
}

func createBody(stock int) string {
	return fmt.Sprintf(`{"name":"a","begin_time":"2026-11-11T00:00:00Z","end_time":"2026-11-12T00:00:00Z","stock":%d}`,
		stock)
}

// sendOnce sends c with keys.
func (f *fixture) sendOnce(tb testing.TB, c change, keys ...string) response {
	tb.Helper()
	req := request(c.method, c.path, adminToken(tb), c.body, "application/json")
	req.Header[keyHeader] = keys
	return f.send(req)
}

func (f *fixture) createOnce(tb testing.TB, key string, stock int) response {
	tb.Helper()
	return f.sendOnce(tb, change{"POST", "/coupons", createBody(stock)}, key)
}

// createWhileHeld creates a coupon with a key that a transaction has just inserted.
func (f *fixture) createWhileHeld(tb testing.TB) response {
	tb.Helper()
	f.createOnce(tb, "k", 1)
	tx := f.db.MustBegin()
	defer func() { _ = tx.Rollback() }()
	tx.MustExec("UPDATE coupon_change_keys SET key_hash = UNHEX(SHA2('other', 256))")
	return f.createOnce(tb, "other", 1)
}

// createUnknown creates a coupon by a COMMIT that is lost.
func (f *fixture) createUnknown(t *testing.T, key string) response {
	t.Helper()
	proxy, dsn := labtest.ProxiedMySQL(t, labtest.DSN(t))
	*f = *newFixtureOn(t, backend{dsn: dsn})
	proxy.Inject(faultproxy.LoseRequest, commitCommand, 1)
	if key == "" {
		return f.sendOnce(t, change{"POST", "/coupons", createBody(1)})
	}
	return f.createOnce(t, key, 1)
}

func (f *fixture) changeCount(t *testing.T) int {
	t.Helper()
	changes, err := coupon.NewStore(f.db).Changes(t.Context(), 0, 0, 100)
	check.NoError(t, err)
	return len(changes)
}

// Whatever an operation does when it is repeated, it says so: a route that is added
// is checked as well.
func (f *fixture) everyOperationSaysWhetherItIsSafeToRepeat(t *testing.T) {
	for path, operations := range f.spec.Paths {
		for method, op := range operations {
			want := []*Problem{unavailable}
			switch route := strings.ToUpper(method) + " " + path; {
			case route == claimRoute:
				want = append(want, claimUnknown)
			case strings.HasPrefix(path, "/orders/") && method != "get":
				want = append(want, orderUnknown)
			case method != "get":
				want = append(want, changeUnknown, changeUnknownWithKey)
			}
			if got := op.has(keyHeader); got != (len(want) == 3) {
				t.Errorf("%s %s takes a key: %t", method, path, got)
			}
			text := op.Responses["503"].Description
			for _, p := range []*Problem{
				unavailable, claimUnknown, orderUnknown, changeUnknown, changeUnknownWithKey,
			} {
				if wanted := slices.Contains(want, p); strings.Contains(text, p.Detail) != wanted {
					t.Errorf("%s %s: 503 says %q: %t, want %t", method, path, p.Detail, !wanted, wanted)
				}
			}
		}
	}
	if changeUnknown.header != nil {
		t.Errorf("a change that is not safe to repeat has %v", changeUnknown.header)
	}
}

func TestRepeatedRequestGetsTheFirstResponse(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	id := f.createCoupon(t, 5)
	for i, c := range f.changesOf(t, id) {
		key := fmt.Sprintf(`k\"%d`, i)
		first := f.sendOnce(t, c, `"`+key+`"`)
		f.update(t, id, `{"name":"other"}`)
		f.claim(id, userToken(t, int64(42+i)))
		before := f.changeCount(t)
		again := f.sendOnce(t, c, `"`+key+`"`)
		if first.Code >= 300 || again.Code != first.Code || again.Body.String() != first.Body.String() ||
			!cmp.Equal(again.Header(), first.Header()) || f.changeCount(t) != before {
			t.Errorf("%+v: %v, then %v", c, first, again)
		}
		for _, other := range f.changesOf(t, f.createCoupon(t, 1)) {
			if other != c {
				wantProblem(t, f.sendOnce(t, other, `"`+key+`"`), 422, "idempotency_key_reused")
			}
		}
		if r := f.sendOnce(t, c, fmt.Sprint("plain-", i)); r.Code != first.Code {
			t.Errorf("another key: %v", r)
		}
	}
	if quoted := f.createOnce(t, `"same"`, 1); f.createOnce(t, "same", 1).id("id") != quoted.id("id") {
		t.Error("a key in quotes is another than the same without")
	}
}

// What a repeated change gets is of the day on which it was made.
func TestRepeatedChangeReopensNoSale(t *testing.T) {
	t.Parallel()
	on := backend{dsn: labtest.DSN(t)}
	a, b := newFixtureOn(t, on), newFixtureOn(t, on)
	id := a.createCoupon(t, 5)
	open := change{"PATCH", "/coupons/" + id, `{"name":"open"}`}
	wantStatus(t, a.sendOnce(t, open, "k"), 200)
	a.end(t, id, time.Now())
	wantStatus(t, b.sendOnce(t, open, "k"), 200)
	wantProblem(t, b.claim(id, userToken(t, 42)), 409, "ended")
}

func TestBadKeyIsRefusedAndChangesNothing(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	id := f.createCoupon(t, 5)
	long := strings.Repeat("k", 255)
	wantStatus(t, f.createOnce(t, long, 1), 201)
	for _, c := range f.changesOf(t, id) {
		for _, keys := range [][]string{{""}, {`""`}, {"a", "b"}, {"a", "a"}, {`"a", "b"`}, {"a, b"}, {"a b"}, {`"a`},
			{`"a\b"`}, {`"a"b"`}, {"schlüssel"}, {"\x7f"}, {"a\x00"}, {long + "k"}, {`"` + long + `k"`}} {
			before := f.changeCount(t)
			wantField(t, f.sendOnce(t, c, keys...), "header", keyHeader)
			if f.changeCount(t) != before {
				t.Errorf("%q has changed something", keys)
			}
		}
	}
}
