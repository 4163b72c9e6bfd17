package main

import (
	"log/slog"
	"maps"
	"os"
	"strings"
	"testing"
)

// warned returns what the settings log at start, beside those that are required.
func warned(t *testing.T, changes map[string]string) string {
	t.Helper()
	env := map[string]string{"MYSQL_DSN": "root@tcp(db)/x", "REDIS_URL": "redis://r", "JWT_SECRET": secret}
	maps.Copy(env, changes)
	cfg, err := configFrom(from(env))
	if err != nil {
		t.Fatal(err)
	}
	var log strings.Builder
	logger := slog.New(slog.NewTextHandler(&log, nil))
	logger.Info("listening", "settings", cfg)
	cfg.warn(logger)
	return log.String()
}

func TestLogHoldsNoPasswordOfAURL(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"} {
		log := warned(t, map[string]string{name: "http://user:hunter2@collector:4318/path?key=hunter3"})
		if strings.Contains(log, "hunter") || !strings.Contains(log, "collector:4318/path") {
			t.Errorf("%s: %s", name, log)
		}
	}
	log := warned(t, map[string]string{"JWT_JWKS": "https://login/keys?secret=hunter2"})
	if strings.Contains(log, "hunter") || !strings.Contains(log, "login/keys") {
		t.Error(log)
	}
}

func TestGuessableSecretsAreWarnedOf(t *testing.T) {
	t.Parallel()
	const warning = "can be guessed"
	compose, err := os.ReadFile("../../docker-compose.yml")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(compose), "${JWT_SECRET:-"+publicSecret+"}") {
		t.Error("docker-compose.yml has another default secret")
	}
	for _, secret := range []string{publicSecret, strings.Repeat("x", 32), strings.Repeat("secret", 6)} {
		if !strings.Contains(warned(t, map[string]string{"JWT_SECRET": secret}), warning) ||
			!strings.Contains(warned(t, map[string]string{"JWT_SECRETS": "a=" + secret}), warning) {
			t.Errorf("%s is not warned of", secret)
		}
	}
	const random = "gB1x0kqPz0b4o8VwJ3n5Yd7tRfLmCs2A"
	if log := warned(t, map[string]string{"JWT_SECRET": random}); strings.Contains(log, warning) {
		t.Errorf("a random secret is warned of: %s", log)
	}
}

func TestMistypedSettingsAreWarnedOf(t *testing.T) {
	t.Parallel()
	for variable, setting := range map[string]string{
		"LOCK_TLL": "LOCK_TTL", "LOCK_TL": "LOCK_TTL", "LOCK_TTLS": "LOCK_TTL", "LOCK_TTL": "",
		"COUPON_CAHCE": "COUPON_CACHE", "JWT_SECRETS_FIEL": "JWT_SECRETS_FILE", "MYSQL_DNS": "MYSQL_DSN",
		"LANG": "", "PATH": "", "HOME": "", "LOCKS": "",
		"OTEL_SERVICE_NAME": "", "JWT_SECRET": "", "JWT_SECRETS": "",
	} {
		var log strings.Builder
		warnMistyped(slog.New(slog.NewTextHandler(&log, nil)), []string{variable + "=hunter2"})
		got := log.String()
		if setting == "" && got != "" || !strings.Contains(got, setting) || strings.Contains(got, "hunter2") {
			t.Errorf("%s: %q", variable, got)
		}
	}
}
