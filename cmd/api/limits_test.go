package main

import (
	"log/slog"
	"maps"
	"math"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"time"
)

// Each number and duration is set to its limits, and to more than they allow.
func TestEveryNumberHasLimits(t *testing.T) {
	t.Parallel()
	for f := range reflect.TypeFor[config]().Fields() {
		if !isNumber(f.Type) {
			continue
		}
		least, greatest, limited := strings.Cut(f.Tag.Get("limits"), "..")
		if !limited {
			t.Errorf("%s has no limits", settingName(f))
			continue
		}
		for value, ok := range map[string]bool{
			least: true, greatest: true,
			beyond(f, least, -1): false, beyond(f, greatest, 1): false,
		} {
			err := configError(map[string]string{settingName(f): value, "LAB": "true"})
			if named := strings.Contains(err, settingName(f)+": must be "+least+" to "+greatest); named == ok {
				t.Errorf("%s=%s: %q", settingName(f), value, err)
			}
		}
	}
}

func TestAbsurdSettingsAreRefused(t *testing.T) {
	t.Parallel()
	for name, value := range map[string]string{
		"COUPON_CACHE": "8760h", "CLAIM_TIMEOUT": "99999h", "LOCK_TTL": "8760h", "LOCK_WAIT": "24h",
		"DRAIN_TIMEOUT": "24h",
		"MYSQL_CONNS":   "1000000", "REDIS_CONNS": "-1", "USER_RATE": "NaN", "ADDRESS_RATE": "+Inf",
		"USER_BURST": "2147483647",
	} {
		if err := configError(map[string]string{name: value}); !strings.HasPrefix(err, name+": must be ") {
			t.Errorf("%s=%s: %q", name, value, err)
		}
	}
}

// configError returns the error of otherwise valid settings.
func configError(changes map[string]string) string {
	env := map[string]string{"MYSQL_DSN": "root@tcp(db)/x", "REDIS_URL": "redis://r", "JWT_SECRET": secret}
	maps.Copy(env, changes)
	if _, err := configFrom(from(env)); err != nil {
		return err.Error()
	}
	return ""
}

func isNumber(t reflect.Type) bool {
	return t != reflect.TypeFor[slog.Level]() && t.Kind() >= reflect.Int && t.Kind() <= reflect.Float64
}

// beyond returns the next value above a limit, or below it.
func beyond(f reflect.StructField, text string, sign int) string {
	switch n := limit(f, text); {
	case f.Type == reflect.TypeFor[time.Duration]():
		return time.Duration(int64(n) + int64(sign)).String()
	case f.Type.Kind() == reflect.Float64:
		return strconv.FormatFloat(math.Nextafter(n, math.Inf(sign)), 'g', -1, 64)
	default:
		return strconv.FormatInt(int64(n)+int64(sign), 10)
	}
}
