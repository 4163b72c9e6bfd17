package auth

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"example.com/flashsale/internal/check"
)

var (
	secret      = []byte("a secret of thirty-two bytes, or more")
	otherSecret = []byte("another secret of 32 bytes or more")
)

func sign(tb testing.TB, id Identity) string {
	tb.Helper()
	token, err := Sign(secret, id, time.Hour)
	check.NoError(tb, err)
	return token
}

// signClaims signs claims that Sign cannot make.
func signClaims(tb testing.TB, method jwt.SigningMethod, key any, c jwt.Claims) string {
	tb.Helper()
	token, err := jwt.NewWithClaims(method, c).SignedString(key)
	check.NoError(tb, err)
	return token
}

func TestSignedTokenStatesItsIdentity(t *testing.T) {
	t.Parallel()
	v := NewVerifier(Config{Secrets: []Secret{{Key: secret}}})
	for _, want := range []Identity{{42, RoleUser}, {1, RoleAdmin}, {1<<63 - 1, RoleUser}} {
		for _, scheme := range []string{"Bearer", "bearer", "BEARER  "} {
			if got, err := v.Authenticate(scheme + " " + sign(t, want)); err != nil || got != want {
				t.Errorf("%s: got %+v, %v; want %+v", scheme, got, err, want)
			}
		}
	}
}

func TestHeaderWithoutTokenIsErrNoToken(t *testing.T) {
	t.Parallel()
	v := NewVerifier(Config{Secrets: []Secret{{Key: secret}}})
	for _, header := range []string{"", "Bearer", "Bearer ", "Bearer   ", "Basic dTpw",
		sign(t, Identity{UserID: 42})} {
		if _, err := v.Authenticate(header); !errors.Is(err, ErrNoToken) {
			t.Errorf("%q: %v, want %v", header, err, ErrNoToken)
		}
	}
}

func TestInvalidTokensAreRefused(t *testing.T) {
	t.Parallel()
	v := NewVerifier(Config{Secrets: []Secret{{Key: secret}}})
	soon := jwt.NewNumericDate(time.Now().Add(time.Hour))
	for name, token := range map[string]string{
		"garbage":      "garbage",
		"other secret": signClaims(t, jwt.SigningMethodHS256, otherSecret, jwt.MapClaims{"sub": "42", "exp": soon}),
		"alg none": signClaims(t, jwt.SigningMethodNone, jwt.UnsafeAllowNoneSignatureType,
			jwt.MapClaims{"sub": "42", "exp": soon}),
		"HS384":  signClaims(t, jwt.SigningMethodHS384, secret, jwt.MapClaims{"sub": "42", "exp": soon}),
		"no exp": signClaims(t, jwt.SigningMethodHS256, secret, jwt.MapClaims{"sub": "42"}),
		"expired": signClaims(t, jwt.SigningMethodHS256, secret,
			jwt.MapClaims{"sub": "42", "exp": jwt.NewNumericDate(time.Now().Add(-leeway - 2*time.Second))}),
		"not yet": signClaims(t, jwt.SigningMethodHS256, secret,
			jwt.MapClaims{"sub": "42", "exp": soon, "nbf": soon}),
		"no sub":   signClaims(t, jwt.SigningMethodHS256, secret, jwt.MapClaims{"exp": soon}),
		"user 0":   signClaims(t, jwt.SigningMethodHS256, secret, jwt.MapClaims{"sub": "0", "exp": soon}),
		"user -1":  signClaims(t, jwt.SigningMethodHS256, secret, jwt.MapClaims{"sub": "-1", "exp": soon}),
		"user bob": signClaims(t, jwt.SigningMethodHS256, secret, jwt.MapClaims{"sub": "bob", "exp": soon}),
		"tampered": tampered(t),
	} {
		t.Run(name, func(t *testing.T) {
			if id, err := v.Verify(token); !errors.Is(err, ErrInvalidToken) || id != (Identity{}) {
				t.Errorf("got %+v, %v; want %v", id, err, ErrInvalidToken)
			}
		})
	}
}

// tampered returns user 42's token with the claims of user 43, an admin.
func tampered(tb testing.TB) string {
	tb.Helper()
	parts := strings.Split(sign(tb, Identity{UserID: 42}), ".")
	other, err := Sign(otherSecret, Identity{43, RoleAdmin}, time.Hour)
	check.NoError(tb, err)
	parts[1] = strings.Split(other, ".")[1]
	return strings.Join(parts, ".")
}

func TestTokenIsValidUntilItExpires(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		v := NewVerifier(Config{Secrets: []Secret{{Key: secret}}})
		token, err := Sign(secret, Identity{UserID: 42}, 10*time.Second)
		check.NoError(t, err)
		for range 10 {
			if id, err := v.Verify(token); err != nil || id.UserID != 42 {
				t.Fatalf("before its expiry: %+v, %v", id, err)
			}
			time.Sleep(time.Second - time.Millisecond)
		}
		time.Sleep(leeway)
		wantAccepted(t, v, "expired within the leeway", token, true)
		time.Sleep(time.Second)
		wantAccepted(t, v, "expired", token, false)
	})
}

func TestTokenOfAFastClockIsAccepted(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		v := NewVerifier(Config{Secrets: []Secret{{Key: secret}}})
		begin := jwt.NewNumericDate(time.Now().Add(leeway + time.Second))
		token := signClaims(t, jwt.SigningMethodHS256, secret, jwt.MapClaims{
			"sub": "42", "exp": jwt.NewNumericDate(time.Now().Add(time.Hour)), "nbf": begin, "iat": begin,
		})
		wantAccepted(t, v, "long before nbf", token, false)
		time.Sleep(time.Second)
		wantAccepted(t, v, "within the leeway before nbf", token, true)
	})
}

func TestTruncatedAndChangedTokensAreRefused(t *testing.T) {
	t.Parallel()
	v := NewVerifier(Config{Secrets: []Secret{{Key: secret}}})
	want := Identity{UserID: 42}
	token := sign(t, want)
	for i := range len(token) {
		if id, err := v.Verify(token[:i]); err == nil {
			t.Errorf("truncated to %d of %d bytes: %+v", i, len(token), id)
		}
		changed := []byte(token)
		changed[i] ^= 4 // within the significant bits of a base64 digit
		if id, err := v.Verify(string(changed)); err == nil && id != want {
			t.Errorf("changed at byte %d: %+v", i, id)
		}
	}
	if _, err := v.Verify(token + ".x"); err == nil {
		t.Error("a token of four parts is accepted")
	}
}
