package httpapi

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/golang-jwt/jwt/v5"
)

func sign(tb testing.TB, method jwt.SigningMethod, key any, c jwt.Claims) string {
	tb.Helper()
	t, err := jwt.NewWithClaims(method, c).SignedString(key)
	if err != nil {
		tb.Fatal(err)
	}
	return t
}

func TestOnlyOurTokensSpeak(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	soon := jwt.NewNumericDate(time.Now().Add(time.Hour))
	for name, token := range map[string]string{
		"garbage":      "garbage",
		"other secret": sign(t, jwt.SigningMethodHS256, []byte("another secret of 32 bytes or more"), jwt.MapClaims{"sub": "42", "exp": soon}),
		"alg none":     sign(t, jwt.SigningMethodNone, jwt.UnsafeAllowNoneSignatureType, jwt.MapClaims{"sub": "42", "exp": soon}),
		"HS384":        sign(t, jwt.SigningMethodHS384, secret, jwt.MapClaims{"sub": "42", "exp": soon}),
		"no exp":       sign(t, jwt.SigningMethodHS256, secret, jwt.MapClaims{"sub": "42"}),
		"expired":      sign(t, jwt.SigningMethodHS256, secret, jwt.MapClaims{"sub": "42", "exp": jwt.NewNumericDate(time.Now().Add(-time.Second))}),
		"not yet":      sign(t, jwt.SigningMethodHS256, secret, jwt.MapClaims{"sub": "42", "exp": soon, "nbf": soon}),
		"no sub":       sign(t, jwt.SigningMethodHS256, secret, jwt.MapClaims{"exp": soon}),
		"user 0":       sign(t, jwt.SigningMethodHS256, secret, jwt.MapClaims{"sub": "0", "exp": soon}),
		"user -1":      sign(t, jwt.SigningMethodHS256, secret, jwt.MapClaims{"sub": "-1", "exp": soon}),
		"user bob":     sign(t, jwt.SigningMethodHS256, secret, jwt.MapClaims{"sub": "bob", "exp": soon}),
		"tampered":     tampered(user(t, 42)),
	} {
		t.Run(name, func(t *testing.T) {
			a := f.do("GET", "/orders", token, "")
			wantProblem(t, a, 401, "invalid_token")
			if got := a.Header().Get("WWW-Authenticate"); !strings.HasPrefix(got, "Bearer ") || !strings.Contains(got, "invalid_token") {
				t.Errorf("WWW-Authenticate: %q", got)
			}
		})
	}
	a := f.do("GET", "/orders", "", "")
	wantProblem(t, a, 401, "unauthorized")
	if got := a.Header().Get("WWW-Authenticate"); !strings.HasPrefix(got, "Bearer ") {
		t.Errorf("WWW-Authenticate: %q", got)
	}
}

// tampered makes user 42's token claim to be user 43's.
func tampered(token string) string {
	parts := strings.Split(token, ".")
	other, _ := Mint([]byte("another secret of 32 bytes or more"), 43, true, time.Hour)
	parts[1] = strings.Split(other, ".")[1]
	return strings.Join(parts, ".")
}

func TestIdentityComesBeforeInput(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	wantProblem(t, f.do("GET", "/orders/x", "", ""), 401, "unauthorized")
	wantProblem(t, f.do("POST", "/coupons", user(t, 42), "{"), 403, "forbidden")
}

func TestOnlyAdminsWriteAndAudit(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	id := f.onSale(t, 1)
	for _, route := range []string{"POST /coupons", "POST /coupons/" + id + "/stock", "GET /coupons/" + id + "/audit"} {
		method, path, _ := strings.Cut(route, " ")
		body := ""
		if method == "POST" {
			body = `{"add":1}`
		}
		wantProblem(t, f.do(method, path, user(t, 42), body), 403, "forbidden")
		if a := f.do(method, path, boss(t), body); a.Code == 401 || a.Code == 403 {
			t.Errorf("%s as admin: %v", route, a)
		}
	}
}

func TestTokenEndsWithItsExpiry(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		known := newTokens(secret)
		token, err := Mint(secret, 42, false, 10*time.Second)
		if err != nil {
			t.Fatal(err)
		}
		for range 10 {
			if c, err := known.verify(token); err != nil || c.user != 42 {
				t.Fatalf("before its expiry: %+v, %v", c, err)
			}
			time.Sleep(time.Second - time.Millisecond)
		}
		time.Sleep(time.Second)
		if _, err := known.verify(token); err == nil {
			t.Error("a token outlived its expiry")
		}
	})
}

// What a token says does not depend on whether its header is the usual text.
func TestUnusualHeaderIsReadAsWell(t *testing.T) {
	t.Parallel()
	known := newTokens(secret)
	for _, c := range []jwt.MapClaims{
		{"sub": "42", "exp": time.Now().Add(time.Hour).Unix()},
		{"sub": "42", "role": "admin", "exp": float64(time.Now().Add(time.Hour).UnixMilli()) / 1000},
		{"sub": "42", "exp": time.Now().Add(-time.Hour).Unix()},
		{"sub": "42", "exp": time.Now().Add(time.Hour).Unix(), "nbf": time.Now().Add(time.Minute).Unix()},
		{"sub": 42, "exp": time.Now().Add(time.Hour).Unix()},
		{"sub": "42", "exp": "soon"},
	} {
		usual := sign(t, jwt.SigningMethodHS256, secret, c)
		if !strings.HasPrefix(usual, plainHeader) {
			t.Fatalf("the usual header has changed: %s", usual)
		}
		with := jwt.NewWithClaims(jwt.SigningMethodHS256, c)
		with.Header["kid"] = "1"
		unusual, err := with.SignedString(secret)
		if err != nil {
			t.Fatal(err)
		}
		one, errOne := known.verify(usual)
		other, errOther := known.verify(unusual)
		if one != other || (errOne == nil) != (errOther == nil) {
			t.Errorf("%v: %+v, %v; with another header %+v, %v", c, one, errOne, other, errOther)
		}
	}
}

// A token that is cut or changed anywhere speaks for nobody, and breaks nothing.
func TestNoPartOfATokenCanBeMissing(t *testing.T) {
	t.Parallel()
	known := newTokens(secret)
	whole := user(t, 42)
	for i := range len(whole) {
		if c, err := known.verify(whole[:i]); err == nil {
			t.Errorf("cut to %d of %d: %+v", i, len(whole), c)
		}
		changed := []byte(whole)
		changed[i] ^= 4 // within a base64 digit's significant bits
		if c, err := known.verify(string(changed)); err == nil && c != (caller{user: 42}) {
			t.Errorf("changed at %d: %+v", i, c)
		}
	}
	if _, err := known.verify(whole + ".x"); err == nil {
		t.Error("a fourth part is accepted")
	}
}
