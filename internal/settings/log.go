package settings

import (
	"fmt"
	"log/slog"
	"math"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"syscall"
)

// LogValue implements slog.LogValuer. It returns all settings in force, with
// the secrets masked.
func (s Settings) LogValue() slog.Value {
	var attrs []slog.Attr
	for f := range reflect.TypeFor[Settings]().Fields() {
		value := "***"
		if f.Tag.Get("secret") == "" {
			value = redact(fmt.Sprint(reflect.ValueOf(s).FieldByIndex(f.Index)))
		}
		attrs = append(attrs, slog.String(nameOf(f), value))
	}
	return slog.GroupValue(attrs...)
}

// redact masks what may be secret in a value that is a URL: password and query.
func redact(value string) string {
	u, err := url.Parse(value)
	if err != nil || u.Host == "" {
		return value
	}
	if u.RawQuery != "" {
		u.RawQuery = "***"
	}
	return u.Redacted()
}

// Warn logs which protections the settings turn off, variables of environ (NAME=value) that
// look like settings, and that the process may open too few files.
func (s Settings) Warn(log *slog.Logger, environ []string, files uint64) {
	if s.Lock == "local" || s.Lock == "none" {
		log.Warn("this LOCK excludes nothing across instances; the database alone keeps the promises", "lock", s.Lock)
	}
	if s.JWTJWKS != "" && (s.JWTIssuer == "" || s.JWTAudience == "") {
		log.Warn("tokens that the identity provider issued to other services are accepted: set JWT_ISSUER and JWT_AUDIENCE")
	}
	for _, secret := range s.Tokens().Secrets {
		if isGuessable(secret.Key) {
			log.Warn("a secret of tokens can be guessed: set at least 32 random bytes", "kid", secret.ID)
		}
	}
	if s.Lab {
		log.Warn("LAB is on: not for production")
	}
	for guard, warning := range map[string]string{
		"stock":  "stock may be oversold",
		"unique": "a user may get more orders for a coupon than it allows",
		"number": "a claim that is repeated may get another order",
		"end":    "an order may give its unit back twice",
	} {
		if s.Lacks(guard) {
			log.Warn("a guard is off", "guard", guard, "so", warning)
		}
	}
	// connections that wait can take what those to MySQL and Redis need; eight of nine wait: see admission.Bound
	if needed := uint64(9*s.HTTPConns + 2*s.MySQLConns + s.RedisConns); files < needed {
		log.Warn("a crowd may use up the open files: raise ulimit -n, or lower HTTP_CONNS", "limit", files, "needed", needed)
	}
	warnMistyped(log, environ)
}

// OpenFiles returns how many files this process may open.
func OpenFiles() uint64 {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		return math.MaxUint64 // not known: no reason to warn
	}
	return limit.Cur
}

// publicSecret is the default of docker-compose.yml, which is known to everyone.
const publicSecret = "only-for-trying-it-out-0123456789abcdef"

// isGuessable reports whether a secret is public, or has so few different bytes that
// it is not random.
func isGuessable(key []byte) bool {
	different := map[byte]bool{}
	for _, b := range key {
		different[b] = true
	}
	return string(key) == publicSecret || len(different) < 8
}

// warnMistyped logs each variable whose name is nearly a setting's: a mistyped setting would leave
// its default in force.
func warnMistyped(log *slog.Logger, environ []string) {
	var known []string
	for f := range reflect.TypeFor[Settings]().Fields() {
		if known = append(known, nameOf(f)); f.Tag.Get("secret") != "" {
			known = append(known, nameOf(f)+"_FILE")
		}
	}
	for _, variable := range environ {
		name, _, _ := strings.Cut(variable, "=")
		for _, setting := range known {
			if len(setting) > 4 && isNear(name, setting) && !slices.Contains(known, name) {
				log.Warn("a variable looks like a setting, but is none", "variable", name, "setting", setting)
			}
		}
	}
}

// isNear reports whether a and b differ in one character, or in two that are neighbours.
func isNear(a, b string) bool {
	for len(a) > 0 && len(b) > 0 && a[0] == b[0] {
		a, b = a[1:], b[1:]
	}
	for len(a) > 0 && len(b) > 0 && a[len(a)-1] == b[len(b)-1] {
		a, b = a[:len(a)-1], b[:len(b)-1]
	}
	return len(a)+len(b) <= 2 || len(a) == 2 && len(b) == 2
}
