package auth

import (
	"errors"
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
	token, err := Signer{Secret: Secret{Key: secret}}.Sign(id, time.Hour)
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

func TestTokenIsValidUntilItExpires(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		v := NewVerifier(Config{Secrets: []Secret{{Key: secret}}})
		token, err := Signer{Secret: Secret{Key: secret}}.Sign(Identity{UserID: 42}, 10*time.Second)
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
