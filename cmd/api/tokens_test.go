package main

import (
	"io"
	"maps"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"example.com/flashsale/internal/auth/authtest"
	"example.com/flashsale/internal/check"
)

// withProvider returns the settings of an instance that knows the provider's
// keys and no secret.
func withProvider(tb testing.TB, location string) map[string]string {
	tb.Helper()
	env := environ(tb, map[string]string{"JWT_JWKS": location, "JWT_ISSUER": "login", "JWT_AUDIENCE": "flashsale"})
	delete(env, "JWT_SECRET")
	return env
}

func claimsOf(user, role string) jwt.MapClaims {
	return jwt.MapClaims{"sub": user, "role": role, "iss": "login", "aud": "flashsale",
		"exp": time.Now().Add(time.Hour).Unix()}
}

func TestFailedFetchesOfKeysAreCounted(t *testing.T) {
	t.Parallel()
	p := authtest.NewProvider(t)
	p.Add(t, "1", "ES256")
	i := start(t, withProvider(t, p.URL)).ready(t)
	if !strings.Contains(i.get(t, "/metrics", "").text, "\nflashsale_jwks_fetch_failures_total 0\n") {
		t.Error("failures are counted before there is one")
	}
	for claim, other := range map[string]string{"aud": "shop", "iss": "elsewhere"} {
		wrong := claimsOf("2", "user")
		wantStatus(t, i.get(t, "/orders", p.Sign(t, "1", wrong)), 200)
		wrong[claim] = other
		wantStatus(t, i.get(t, "/orders", p.Sign(t, "1", wrong)), 401)
	}
	p.Fail.Store(true)
	p.Add(t, "2", "ES256")
	wantStatus(t, i.get(t, "/orders", p.Sign(t, "2", claimsOf("2", "user"))), 401)
	if !strings.Contains(i.get(t, "/metrics", "").text, "\nflashsale_jwks_fetch_failures_total 1\n") {
		t.Error("the failure is not counted")
	}
}

func TestServiceDoesNotStartWithoutKeys(t *testing.T) {
	t.Parallel()
	for location, want := range map[string]string{
		"/no/such/file": "no such file", "http://login.example.com/": "must be an https URL",
	} {
		env := map[string]string{"MYSQL_DSN": "root@tcp(127.0.0.1:1)/x", "REDIS_URL": "redis://127.0.0.1:1",
			"JWT_JWKS": location}
		err := run(t.Context(), nil, from(env), io.Discard, io.Discard)
		if err == nil || !strings.Contains(err.Error(), "JWT_JWKS: ") || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", location, err, want)
		}
	}
}

// The commands in docs/identity.md make keys and a token that the service
// accepts.
func TestDocumentedKeysWork(t *testing.T) {
	t.Parallel()
	page := readFile(t, "../../docs/identity.md")
	script := regexp.MustCompile("(?s)```sh\n(base64url.*?)```").FindStringSubmatch(page)
	if script == nil {
		t.Fatal("docs/identity.md has no commands that make keys")
	}
	shell := exec.CommandContext(t.Context(), "sh", "-e", "-c", script[1])
	shell.Dir, shell.Stderr = t.TempDir(), os.Stderr
	out, err := shell.Output()
	check.NoError(t, err)
	env := withProvider(t, "")
	maps.Copy(env, assignments(string(out)))
	_, token, _ := strings.Cut(string(out), "Bearer ")
	token, _, _ = strings.Cut(token, "'")
	if r := start(t, env).ready(t).get(t, "/orders", token); r.status != 200 {
		t.Errorf("%s\n%+v", out, r)
	}
}

// assignments returns the settings in text.
func assignments(text string) map[string]string {
	found := map[string]string{}
	for _, m := range regexp.MustCompile(`(JWT_\w+)=(\S+)`).FindAllStringSubmatch(text, -1) {
		found[m[1]] = m[2]
	}
	return found
}
