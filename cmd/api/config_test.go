package main

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"strings"
	"testing"
	"time"

	"example.com/flashsale/internal/lab/labtest"
	"example.com/flashsale/internal/order"
	"example.com/flashsale/migrations"
)

func from(env map[string]string) func(string) string {
	return func(name string) string { return env[name] }
}

func TestEveryBadSettingIsReported(t *testing.T) {
	t.Parallel()
	bad := map[string]string{
		"HTTP_ADDR": "8080", "MYSQL_DSN": "nonsense", "MYSQL_CONNS": "0", "REDIS_URL": "http://redis",
		"REDIS_CONNS": "many",
		"JWT_SECRET":  "short", "LOCK": "paper", "LOCK_SCOPE": "world", "LOCK_TTL": "1ms", "LOCK_WAIT": "-1s",
		"COMMIT": "never", "COUPON_CACHE": "-1s", "CLAIM_TIMEOUT": "soon",
		"HTTP_CONNS": "0", "USER_RATE": "-1", "USER_BURST": "0", "ADDRESS_RATE": "NaN", "ADDRESS_BURST": "-1",
		"TRUSTED_PROXIES": "nginx", "CORS_ORIGINS": "shop.example",
		"DRAIN_DELAY": "-1s", "DRAIN_TIMEOUT": "0s",
		"LOG_LEVEL": "loud", "ACCESS_LOG": "1.5", "DOCS": "some", "MIGRATE": "perhaps", "LAB": "sure",
		"GUARDS_OFF": "door",
	}
	err := run(t.Context(), nil, from(bad), io.Discard, io.Discard)
	if err == nil {
		t.Fatal("no error")
	}
	for name := range bad {
		if n := strings.Count(err.Error(), "\n"+name+": "); n < 1 || n > 1 && name != "GUARDS_OFF" {
			t.Errorf("%s is reported %d times, want once", name, n)
		}
	}
	for _, want := range []string{
		"REDIS_CONNS: is not a whole number: ", "CLAIM_TIMEOUT: is not a duration like 1.5s: ",
		"DOCS: is not true or false: ",
		"TRUSTED_PROXIES: is not a list of networks like 10.0.0.0/8: ", "LOG_LEVEL: is not a level: ",
	} {
		if !strings.Contains(err.Error(), "\n"+want) {
			t.Errorf("not reported: %q", want)
		}
	}
	err = run(t.Context(), nil, from(nil), io.Discard, io.Discard)
	for _, name := range []string{"MYSQL_DSN", "REDIS_URL", "JWT_SECRET"} {
		if err == nil || !strings.Contains(err.Error(), name+": is not set") {
			t.Errorf("missing %s is not reported: %v", name, err)
		}
	}
}

func TestBadSettingsSayWhy(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("s", 32)
	for _, test := range []struct{ name, value, want string }{
		{"JWT_SECRET", "short", "must have at least 32 bytes"},
		{"JWT_SECRETS", long, "must be kid=secret"},
		{"JWT_SECRETS", "=" + long, "must be kid=secret"},
		{"JWT_SECRETS", "a=" + long + ",", "must be kid=secret"},
		{"JWT_SECRETS", "a=" + long + ",a=" + long, "the kid a twice"},
		{"REDIS_URL", "http://redis", "not a Redis URL"},
		{"EVENTS_REDIS", "http://redis", "not a Redis URL"},
		{"EVENTS", "on", "is not true or false"},
		{"REDIS_URL", "rediss://r?client_cert=/missing.pem&client_key=/k.pem", "/missing.pem: no such file"},
		{"REDIS_URL", "redis://r?client_cert=/c.pem&client_key=/k.pem", "need the scheme rediss"},
		{"JWT_JWKS", "http://login.example.com/keys", "must be an https URL"},
		{"JWT_SECRETS", "a=" + long + ",b=short", "the secret b must have"},
	} {
		env := map[string]string{"MYSQL_DSN": "root@tcp(db)/x", "REDIS_URL": "redis://r", test.name: test.value}
		_, err := configFrom(from(env))
		if err == nil || !strings.HasPrefix(err.Error(), test.name+": ") ||
			!strings.Contains(err.Error(), test.want) || strings.Contains(err.Error(), long) {
			t.Errorf("%s=%s: %v, want %q", test.name, test.value, err, test.want)
		}
	}
}

func TestOriginsAreWrittenAsBrowsersDo(t *testing.T) {
	t.Parallel()
	env := map[string]string{"MYSQL_DSN": "root@tcp(db)/x", "REDIS_URL": "redis://r", "JWT_SECRET": secret}
	for value, ok := range map[string]bool{
		"": true, "*": true, "https://shop.example": true, "https://shop.example:8443,http://localhost:5173": true,
		"http://127.0.0.1": true, "http://[::1]:3000": true, "https://xn--bcher-kva.example": true,
		"https://shop.example/": false, "https://shop.example/cart": false, "https://shop.example?x": false,
		"https://shop.example#x": false, "https://user@shop.example": false, "shop.example": false, "null": false,
		"//shop.example": false, "https://": false, "https://shop.example, http://localhost:5173": false,
		"https://shop.example http://localhost": false, "https://shop.example,": false,
		"https://*.shop.example": false,
		"*,https://shop.example": false, "https://shop.example:443": false, "http://localhost:80": false,
		"https://Shop.example": false, "https://shop.example:": false, "https://bücher.example": false,
		"file:///shop": false, `"https://shop.example"`: false,
	} {
		env["CORS_ORIGINS"] = value
		_, err := configFrom(from(env))
		if (err == nil) != ok || err != nil && !strings.HasPrefix(err.Error(), "CORS_ORIGINS: ") {
			t.Errorf("%q: %v, want valid: %v", value, err, ok)
		}
	}
}

func TestSecretsAreNeverPrinted(t *testing.T) {
	t.Parallel()
	const hidden = "hunter2"
	for _, env := range []map[string]string{
		{ // malformed settings
			"MYSQL_DSN": "root:" + hidden + "@nowhere", "REDIS_URL": "redis://:" + hidden + "@[::1",
			"JWT_SECRET": hidden, "JWT_SECRETS": "a=" + hidden,
		},
		{ // a password where none is supported
			"MYSQL_DSN": "root@tcp(db)/x", "REDIS_URL": "redis://r", "JWT_SECRET": secret,
			"LOCK": "etcd", "ETCD_ADDR": "http://root:" + hidden + "@127.0.0.1:1",
		},
		{ // valid settings, and no server at the addresses
			"HTTP_ADDR": "127.0.0.1:0", "MYSQL_DSN": "root:" + hidden + "@tcp(127.0.0.1:1)/x",
			"REDIS_URL": "redis://:" + hidden + "@127.0.0.1:1/0", "JWT_SECRET": strings.Repeat(hidden, 5),
			"JWT_SECRETS": "a=" + strings.Repeat(hidden, 5), "LOG_LEVEL": "debug",
		},
	} {
		ctx, stop := context.WithTimeout(t.Context(), 500*time.Millisecond)
		log := new(logBuffer)
		err := run(ctx, nil, from(env), log, log)
		stop()
		if strings.Contains(log.String(), hidden) || err != nil && strings.Contains(err.Error(), hidden) {
			t.Errorf("a secret was printed: %v\n%s", err, log)
		}
		if err == nil && !strings.Contains(log.String(), "waiting for MySQL") {
			t.Errorf("the service did not try to connect: %s", log)
		}
	}
}

func TestEffectiveSettingsAreLogged(t *testing.T) {
	t.Parallel()
	cfg, err := configFrom(from(map[string]string{
		"MYSQL_DSN": "root@tcp(db)/x", "REDIS_URL": "redis://r", "JWT_SECRET": secret, "CLAIM_TIMEOUT": "1s",
	}))
	if err != nil {
		t.Fatal(err)
	}
	log := new(logBuffer)
	slog.New(slog.NewJSONHandler(log, nil)).Info("settings", "settings", cfg)
	for _, want := range []string{`"CLAIM_TIMEOUT":"1s"`, `"LOCK":"redis"`, `"MYSQL_CONNS":"24"`,
		`"JWT_SECRET":"***"`} {
		if !strings.Contains(log.String(), want) {
			t.Errorf("no %s in %s", want, log)
		}
	}
	if cfg.Instance == "" {
		t.Error("INSTANCE is empty")
	}
}

func TestGuardsAreRemovedInTheLabOnly(t *testing.T) {
	t.Parallel()
	env := map[string]string{"MYSQL_DSN": "root@tcp(db)/x", "REDIS_URL": "redis://r", "JWT_SECRET": secret,
		"GUARDS_OFF": "stock,unique"}
	if _, err := configFrom(from(env)); err == nil || !strings.Contains(err.Error(), "LAB=true") {
		t.Errorf("outside the lab: %v", err)
	}
	env["LAB"] = "true"
	if _, err := configFrom(from(env)); err == nil || !strings.Contains(err.Error(), "COMMIT=each") {
		t.Errorf("with the default COMMIT: %v", err)
	}
	env["COMMIT"] = "each"
	cfg, err := configFrom(from(env))
	if err != nil {
		t.Fatalf("in the lab: %v", err)
	}
	log := new(logBuffer)
	cfg.Lock = "none"
	cfg.warn(slog.New(slog.NewJSONHandler(log, nil)))
	if n := strings.Count(log.String(), `"level":"WARN"`); n != 4 {
		t.Errorf("%d warnings, want one each for LOCK, LAB and the two guards: %s", n, log)
	}
}

// Partitioning by date forces the second key on an operator.
func TestUniqueKeyIsRequired(t *testing.T) {
	t.Parallel()
	env := settings(t, nil)
	if err := run(t.Context(), []string{"migrate"}, from(env), io.Discard, io.Discard); err != nil {
		t.Fatal(err)
	}
	for _, change := range []string{"DROP KEY one_each", "ADD UNIQUE KEY one_each (coupon_id, user_id, created_at)"} {
		labtest.Open(t, env["MYSQL_DSN"]).MustExec("ALTER TABLE coupon_orders " + change)
		for _, command := range []string{"serve", "migrate"} {
			ctx, stop := context.WithTimeout(t.Context(), 20*time.Second)
			defer stop()
			err := run(ctx, []string{command}, from(env), io.Discard, io.Discard)
			if !errors.Is(err, migrations.ErrUnguarded) {
				t.Errorf("%s: %s ends with %v", change, command, err)
			}
		}
	}
	env["LAB"], env["COMMIT"], env["GUARDS_OFF"] = "true", "each", "unique"
	start(t, env).ready(t)
}

func TestClaimsPauseInTheLabOnly(t *testing.T) {
	t.Parallel()
	env := map[string]string{"MYSQL_DSN": "root@tcp(db)/x", "REDIS_URL": "redis://r", "JWT_SECRET": secret,
		"CLAIM_PAUSE": "1s"}
	if _, err := configFrom(from(env)); err == nil || !strings.Contains(err.Error(), "CLAIM_PAUSE") {
		t.Errorf("outside the lab: %v", err)
	}
	env["LAB"] = "true"
	if _, err := configFrom(from(env)); err != nil {
		t.Errorf("in the lab: %v", err)
	}
	env["CLAIM_PAUSE"] = "11s"
	if _, err := configFrom(from(env)); err == nil {
		t.Error("a pause of 11s is accepted")
	}
}

func TestFewerConnectionsRunFewerClaims(t *testing.T) {
	t.Parallel()
	for conns, want := range map[int]int{1: 1, 400: 400, 1 << 20: order.MaxRunning} {
		if got := (config{HTTPConns: conns}).running(); got != want {
			t.Errorf("HTTP_CONNS=%d: %d claims run at a time, want %d", conns, got, want)
		}
	}
}
