package settings

import (
	"log/slog"
	"maps"
	"math"
	"os"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"time"

	"example.com/flashsale/internal/check"
	"example.com/flashsale/internal/order"
)

const secret = "a secret of thirty-two bytes, or more"

// with returns valid settings, changed.
func with(changes map[string]string) func(string) string {
	env := map[string]string{"MYSQL_DSN": "root@tcp(db)/x", "REDIS_URL": "redis://127.0.0.1:1", "JWT_SECRET": secret}
	maps.Copy(env, changes)
	return from(env)
}

func from(env map[string]string) func(string) string {
	return func(name string) string { return env[name] }
}

func TestEveryBadSettingIsReported(t *testing.T) {
	t.Parallel()
	bad := map[string]string{
		"HTTP_ADDR": "8080", "MYSQL_DSN": "nonsense", "MYSQL_CONNS": "0", "REDIS_URL": "http://redis",
		"REDIS_CONNS": "many", "REDIS_PREFIX": "{sale}:",
		"JWT_SECRET": "short", "LOCK": "paper", "LOCK_SCOPE": "world", "LOCK_TTL": "1ms", "LOCK_WAIT": "-1s",
		"COMMIT": "never", "COUPON_CACHE": "-1s", "CLAIM_TIMEOUT": "soon",
		"HTTP_CONNS": "0", "USER_RATE": "-1", "USER_BURST": "0", "ADDRESS_RATE": "NaN", "ADDRESS_BURST": "-1",
		"TRUSTED_PROXIES": "nginx", "CORS_ORIGINS": "shop.example",
		"DRAIN_DELAY": "-1s", "DRAIN_TIMEOUT": "0s", "OTEL_TRACES_EXPORTER": "zipkin",
		"OTEL_EXPORTER_OTLP_PROTOCOL": "http/json", "OTEL_EXPORTER_OTLP_ENDPOINT": "o:4318",
		"LOG_LEVEL": "loud", "ACCESS_LOG": "1.5", "DOCS": "some", "MIGRATE": "perhaps", "LAB": "sure",
		"GUARDS_OFF": "door", "EVENTS": "on", "EVENTS_REDIS": "http://redis",
	}
	_, err := From(from(bad))
	if err == nil {
		t.Fatal("no error")
	}
	report := "\n" + err.Error()
	for name := range bad {
		if n := strings.Count(report, "\n"+name+": "); n != 1 {
			t.Errorf("%s is reported %d times, want once", name, n)
		}
	}
	for _, want := range []string{
		"REDIS_CONNS: is not a whole number: ", "CLAIM_TIMEOUT: is not a duration like 1.5s: ",
		"DOCS: is not true or false: ",
		"TRUSTED_PROXIES: is not a list of networks like 10.0.0.0/8: ", "LOG_LEVEL: is not a level: ",
	} {
		if !strings.Contains(report, "\n"+want) {
			t.Errorf("not reported: %q", want)
		}
	}
	_, err = From(from(nil))
	for _, name := range []string{"MYSQL_DSN", "REDIS_URL", "JWT_SECRET"} {
		if err == nil || !strings.Contains(err.Error(), name+": is not set") {
			t.Errorf("missing %s is not reported: %v", name, err)
		}
	}
}

func TestSettingsAreChecked(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("s", 32)
	const a, b, c = "redis://a:6379", "redis://b:6379", "redis://c:6379"
	const ok = ""
	for _, test := range []struct {
		others, name, want string
		values             []string
	}{
		{"JWT_SECRET=", "JWT_SECRETS", "must be kid=secret", []string{long}},
		{"", "JWT_SECRETS", "must be kid=secret", []string{"=" + long}},
		{"", "JWT_SECRETS", "has an empty element", []string{"a=" + long + ","}},
		{"", "JWT_SECRETS", "the kid a twice", []string{"a=" + long + ",a=" + long}},
		{"", "JWT_SECRETS", "the secret b must have", []string{"a=" + long + ",b=short"}},
		{"", "JWT_SECRET", "must have at least 32 bytes", []string{"short"}},
		{"", "JWT_JWKS", "must be an https URL", []string{"http://login.example.com/keys"}},
		{"", "REDIS_URL", "/missing.pem: no such file",
			[]string{"rediss://r?client_cert=/missing.pem&client_key=/k.pem"}},
		{"", "REDIS_URL", "need the scheme rediss", []string{"redis://r?client_cert=/c.pem&client_key=/k.pem"}},

		{"", "HTTP_ADDR", "greater than 65535", []string{":99999", "[::1]:65536"}},
		{"", "MYSQL_DSN", "greater than 65535", []string{"u:p@tcp(db:65536)/flashsale"}},
		{"", "MYSQL_DSN", ok, []string{"u:99999@tcp(db:65535)/flashsale", "u:x/:99999/y@tcp(db)/flashsale",
			"u:99999,x@tcp(db)/flashsale", "u:99999)?@tcp(db)/flashsale"}},
		{"", "REDIS_URL", "greater than 65535", []string{"redis://r:65536", "redis://r:65536/1",
			"redis://r:65536?db=1", "redis+sentinel://s:1?master_name=m&addr=t:65536&addr=u:1", "redis+cluster://r:99999"}},
		{"", "REDIS_URL", ok, []string{"redis://u:99999@r:65535/1", "redis://u:99999,x@r"}},
		{"LOCK=redlock", "REDLOCK_URLS", "greater than 65535", []string{a + ",redis://b:65536," + c}},
		{"LOCK=etcd", "ETCD_ADDR", "greater than 65535", []string{"a:1,https://b:65536"}},
		{"", "JWT_JWKS", "greater than 65535", []string{"https://login.example:65536/keys"}},
		{"", "OTEL_EXPORTER_OTLP_ENDPOINT", "greater than 65535", []string{"http://o:65536"}},
		{"", "CORS_ORIGINS", "greater than 65535", []string{"https://shop.example:65536"}},

		{"LOCK=zk", "ZK_ADDR", ok, []string{"zoo-1.example:2181,zoo-2.example:2181,[::1]:2181"}},
		{"LOCK=zk", "ZK_ADDR", "must be host:port", []string{"", "zoo", "zoo:2181, zoo2:2181"}},
		{"LOCK=etcd", "ETCD_ADDR", ok, []string{"https://etcd-1:2379,etcd-2:2379,unix:///run/etcd:1"}},
		{"LOCK=etcd", "ETCD_ADDR", "must be host:port", []string{"", "x y", "x y:1", "etcd:port"}},
		{"LOCK=etcd", "ETCD_ADDR", "without a user",
			[]string{"http://root:hunter2@etcd:2379", "root:hunter2@etcd:2379"}},
		{"LOCK=memcache", "MEMCACHE_ADDR", ok, []string{"memcached:11211,/run/memcached"}},
		{"LOCK=memcache", "MEMCACHE_ADDR", "must be host:port or /path",
			[]string{"", "???:11211", "memcached:11211,"}},
		{"LOCK=redis", "MEMCACHE_ADDR", "must be host:port or /path", []string{"???"}},
		{"LOCK=redlock", "REDLOCK_URLS", ok, []string{a + "," + b + "," + c, a}},
		{"LOCK=redlock", "REDLOCK_URLS", "an odd number", []string{a + "," + b, ""}},
		{"LOCK=redlock", "REDLOCK_URLS", "different servers", []string{a + "," + a + "," + a,
			a + "," + b + ",redis://user:hunter2@A/1", "unix:///run/a,unix:///run/b,unix:///run/a?db=1"}},
		{"LOCK=redlock", "REDLOCK_URLS", "must have URLs like", []string{a + "," + b + ",nonsense:hunter2"}},

		{"", "CORS_ORIGINS", ok, []string{"*", "https://shop.example:8443,http://localhost:5173",
			"http://127.0.0.1,http://[::1]:3000,https://xn--bcher-kva.example"}},
		{"", "CORS_ORIGINS", "no origin", []string{"https://shop.example/", "https://shop.example?x",
			"https://shop.example#x", "https://user@shop.example", "null", "//shop.example", "https://",
			"https://shop.example http://localhost", "https://*.shop.example", "*,https://shop.example",
			"https://shop.example:443", "http://localhost:80", "https://Shop.example", "https://shop.example:",
			"https://bücher.example", "file:///shop"}},
		{"", "CORS_ORIGINS", "has an empty element", []string{"https://shop.example,"}},
		{"", "TRUSTED_PROXIES", "has an empty element", []string{"10.0.0.0/8,"}},
		{"", "TRUSTED_PROXIES", "write 10.0.0.0/8", []string{"127.0.0.0/8,::ffff:10.0.0.0/104"}},
		{"JWT_SECRET=", "JWT_SECRETS", "has a blank at an end", []string{"a=" + long + ", b=" + long}},
		{"JWT_SECRET=", "JWT_JWKS", "is in quotes", []string{`"https://login.example/keys"`}},

		{"", "GUARDS_OFF", "LAB=true", []string{"stock,unique"}},
		{"LAB=true", "GUARDS_OFF", "COMMIT=each", []string{"stock,unique"}},
		{"LAB=true COMMIT=each", "GUARDS_OFF", ok, []string{"stock,unique"}},
		{"", "CLAIM_PAUSE", "LAB=true", []string{"1s"}},
		{"LAB=true", "CLAIM_PAUSE", ok, []string{"1s"}},
	} {
		changes := map[string]string{}
		for setting := range strings.FieldsSeq(test.others) {
			name, value, _ := strings.Cut(setting, "=")
			changes[name] = value
		}
		for _, value := range test.values {
			changes[test.name] = value
			_, err := From(with(changes))
			switch {
			case test.want == ok && err == nil:
			case test.want == ok || err == nil || !strings.HasPrefix(err.Error(), test.name+": ") ||
				!strings.Contains(err.Error(), test.want) || strings.Contains(err.Error(), "\n"):
				t.Errorf("%s %s=%s: %v, want %q", test.others, test.name, value, err, test.want)
			case strings.Contains(err.Error(), "hunter2"), strings.Contains(err.Error(), long):
				t.Errorf("%s: the error quotes a secret: %v", test.name, err)
			}
		}
	}
}

// Each number and duration is set to its limits, and to more than they allow.
func TestEveryNumberHasLimits(t *testing.T) {
	t.Parallel()
	for f := range reflect.TypeFor[Settings]().Fields() {
		if f.Type == reflect.TypeFor[slog.Level]() || f.Type.Kind() < reflect.Int || f.Type.Kind() > reflect.Float64 {
			continue
		}
		least, greatest, limited := strings.Cut(f.Tag.Get("limits"), "..")
		if !limited {
			t.Errorf("%s has no limits", nameOf(f))
			continue
		}
		want := nameOf(f) + ": must be " + least + " to " + greatest
		for value, ok := range map[string]bool{
			least: true, greatest: true, beyond(f, least, -1): false, beyond(f, greatest, 1): false,
		} {
			_, err := From(with(map[string]string{nameOf(f): value, "LAB": "true"}))
			if ok != (err == nil) || err != nil && err.Error() != want {
				t.Errorf("%s=%s: %v", nameOf(f), value, err)
			}
		}
	}
}

// beyond returns the next value above a limit, or below it.
func beyond(f reflect.StructField, text string, sign int) string {
	switch n := number(text); {
	case f.Type == reflect.TypeFor[time.Duration]():
		return time.Duration(int64(n) + int64(sign)).String()
	case f.Type.Kind() == reflect.Float64:
		return strconv.FormatFloat(math.Nextafter(n, math.Inf(sign)), 'g', -1, 64)
	default:
		return strconv.FormatInt(int64(n)+int64(sign), 10)
	}
}

func TestFewerConnectionsRunFewerClaims(t *testing.T) {
	t.Parallel()
	for conns, want := range map[int]int{1: 1, 400: 400, 1 << 20: order.MaxRunning} {
		if got := (Settings{HTTPConns: conns}).Running(); got != want {
			t.Errorf("HTTP_CONNS=%d: %d claims run at a time, want %d", conns, got, want)
		}
	}
}

func TestTracesAreOffUnlessSet(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		env map[string]string
		url string // "off" if they are
	}{
		{nil, "off"},
		{map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "http://h:1/x"}, "http://h:1/x/v1/traces"},
		{map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "http://h:1", "OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"},
			"http://h:1"},
		{map[string]string{"OTEL_TRACES_EXPORTER": "otlp"}, ""},
		{map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "http://h:1", "OTEL_TRACES_EXPORTER": "none"}, "off"},
		{map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "http://h:1", "OTEL_SDK_DISABLED": "true"}, "off"},
		{map[string]string{"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "http://h:1/x"}, "http://h:1/x"},
	} {
		s, err := From(with(test.env))
		to, on := s.Traces()
		if !on {
			to.URL = "off"
		}
		if err != nil || to.URL != test.url {
			t.Errorf("%v: %q, want %q, %v", test.env, to.URL, test.url, err)
		}
	}
}

// logged returns what the settings log at start.
func logged(t *testing.T, changes map[string]string, environ ...string) string {
	t.Helper()
	s, err := From(with(changes))
	check.NoError(t, err)
	var log strings.Builder
	logger := slog.New(slog.NewTextHandler(&log, nil))
	logger.Info("starting", "settings", s)
	s.Warn(logger, environ, 1<<20)
	return log.String()
}

func TestSettingsInForceAreLoggedWithoutSecrets(t *testing.T) {
	t.Parallel()
	log := logged(t, map[string]string{
		"CLAIM_TIMEOUT": "1s", "OTEL_EXPORTER_OTLP_ENDPOINT": "http://user:hunter2@collector:4318/path?key=hunter3",
		"JWT_JWKS": "https://login/keys?secret=hunter2", "EVENTS_REDIS": "redis://:hunter2@r",
	})
	for _, want := range []string{"CLAIM_TIMEOUT=1s", "LOCK=redis", "MYSQL_CONNS=24", "JWT_SECRET=***", "INSTANCE=",
		"collector:4318/path", "login/keys"} {
		if !strings.Contains(log, want) {
			t.Errorf("no %s in %s", want, log)
		}
	}
	if strings.Contains(log, "hunter") || strings.Contains(log, secret) || strings.Contains(log, `INSTANCE=""`) {
		t.Error(log)
	}
}

func TestWarnings(t *testing.T) {
	t.Parallel()
	compose, err := os.ReadFile("../../docker-compose.yml")
	if err != nil || !strings.Contains(string(compose), "${JWT_SECRET:-"+publicSecret+"}") {
		t.Errorf("docker-compose.yml has another default secret: %v", err)
	}
	const guessable = "can be guessed"
	for _, test := range []struct {
		name, value string
		want        []string
	}{
		{"JWT_SECRET", publicSecret, []string{guessable}},
		{"JWT_SECRET", strings.Repeat("secret", 6), []string{guessable}},
		{"JWT_SECRETS", "a=" + strings.Repeat("x", 32), []string{guessable}},
		{"JWT_SECRET", "gB1x0kqPz0b4o8VwJ3n5Yd7tRfLmCs2A", nil},
		{"JWT_JWKS", "https://login/keys", []string{"set JWT_ISSUER and JWT_AUDIENCE"}},
		{"HTTP_CONNS", "200000", []string{"raise ulimit -n"}},
		{"LOCK", "none", []string{"excludes nothing"}},
		{"LOCK", "local", []string{"excludes nothing"}},
		{"GUARDS_OFF", "number", []string{"LAB is on", "another order"}},
		{"GUARDS_OFF", "end", []string{"LAB is on", "back twice"}},
		{"GUARDS_OFF", "stock", []string{"LAB is on", "may be oversold"}},
		{"GUARDS_OFF", "unique", []string{"LAB is on", "more orders"}},
	} {
		changes := map[string]string{test.name: test.value}
		if test.name == "GUARDS_OFF" {
			changes["LAB"], changes["COMMIT"] = "true", "each"
		}
		log := logged(t, changes)
		for _, want := range test.want {
			if !strings.Contains(log, want) {
				t.Errorf("%s=%s: no %q in %s", test.name, test.value, want, log)
			}
		}
		if n := strings.Count(log, "level=WARN"); n != len(test.want) {
			t.Errorf("%s=%s: %d warnings: %s", test.name, test.value, n, log)
		}
	}
	for variable, setting := range map[string]string{
		"LOCK_TLL": "LOCK_TTL", "LOCK_TL": "LOCK_TTL", "LOCK_TTLS": "LOCK_TTL", "LOCK_TTL": "",
		"COUPON_CAHCE": "COUPON_CACHE", "JWT_SECRETS_FIEL": "JWT_SECRETS_FILE", "MYSQL_DNS": "MYSQL_DSN",
		"LANG": "", "PATH": "", "HOME": "", "LOCKS": "",
		"OTEL_SERVICE_NAME": "", "JWT_SECRET": "", "JWT_SECRETS": "",
	} {
		log := logged(t, nil, variable+"=hunter2")
		want := "variable=" + variable + " setting=" + setting
		if setting == "" && strings.Contains(log, "variable=") ||
			setting != "" && !strings.Contains(log, want) || strings.Contains(log, "hunter2") {
			t.Errorf("%s: %s", variable, log)
		}
	}
}
