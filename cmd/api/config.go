package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/netip"
	"net/url"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/caarlos0/env/v11"

	"example.com/flashsale/internal/connect"
	"example.com/flashsale/internal/observe"
	"example.com/flashsale/internal/order/commit"
)

// config holds every setting. A field tagged secret is never printed, and its
// value may be in a file. The tag limits holds the least and the greatest value of
// a number or a duration. The doc tag is the setting's row in docs/settings.md.
type config struct {
	HTTPAddr string `env:"HTTP_ADDR" envDefault:"127.0.0.1:8080" doc:"host:port, or unix:/path"`
	Instance string `env:"INSTANCE" doc:"value of the header X-Instance; the host name if empty"`

	MySQLDSN    string `env:"MYSQL_DSN,required" secret:"true" doc:"user:password@tcp(host:3306)/database"`
	MySQLConns  int    `env:"MYSQL_CONNS" envDefault:"24" limits:"1..1000" doc:"size of the connection pool; COMMIT=grouped has a second one of this size for its batches"`
	RedisURL    string `env:"REDIS_URL,required" secret:"true" doc:"redis://user:password@host:6379/0 or unix:///path; redis+sentinel://host:26379/0?master_name=main&addr=host2:26379; redis+cluster://user:password@host:6379?addr=host2:6379; rediss for TLS"`
	RedisConns  int    `env:"REDIS_CONNS" envDefault:"32" limits:"1..1000" doc:"size of the connection pool"`
	RedisPrefix string `env:"REDIS_PREFIX" envDefault:"flashsale:" doc:"begins the keys that are this service's alone: the counters of the ids and, with LOCK=redis or redlock, the locks; at most 14 printable characters, no braces"`

	JWTSecret   string   `env:"JWT_SECRET" secret:"true" doc:"verifies tokens (HS256) whose kid is not in JWT_SECRETS: at least 32 bytes, the same on every instance; required without JWT_SECRETS and JWT_JWKS"`
	JWTSecrets  []string `env:"JWT_SECRETS" secret:"true" doc:"kid=secret, several separated by commas: verify tokens (HS256) by their kid; api token signs with the first"`
	JWTJWKS     string   `env:"JWT_JWKS" doc:"JWKS of public keys that verify tokens (RS256, ES256, EdDSA) by their kid: https URL, or path of a file"`
	JWTIssuer   string   `env:"JWT_ISSUER" doc:"iss of every token, if set"`
	JWTAudience string   `env:"JWT_AUDIENCE" doc:"aud of every token contains it, if set"`

	Lock      string        `env:"LOCK" envDefault:"redis" doc:"redis, redisson (shared with Java), redlock, mysql (rows), getlock, zk, etcd, memcache; local and none exclude nothing across instances, of which a warning is logged"`
	LockScope string        `env:"LOCK_SCOPE" envDefault:"user" doc:"user: a second simultaneous claim of a user is refused; coupon: the claims of a coupon wait for each other; segment: those of a segment of its stock do (see segments of POST /coupons)"`
	LockTTL   time.Duration `env:"LOCK_TTL" envDefault:"30s" limits:"1s..10m" doc:"how long a lock remains after the instance that held it has died"`
	LockWait  time.Duration `env:"LOCK_WAIT" envDefault:"10s" limits:"1ms..1m" doc:"longest wait for a lock with LOCK_SCOPE=coupon or segment; CLAIM_TIMEOUT may end it first"`
	Commit    string        `env:"COMMIT" envDefault:"grouped" doc:"grouped: concurrent claims share transactions; each, optimistic, pessimistic: one transaction per claim, with the stock guarded by a condition, by the row's version or by a row lock"`

	Events      bool   `env:"EVENTS" envDefault:"false" doc:"publish what happens to orders in the Redis stream PREFIXevents, where PREFIX is REDIS_PREFIX (see sale.md); the same on every instance"`
	EventsRedis string `env:"EVENTS_REDIS" secret:"true" doc:"URL of the Redis that has the stream, as for REDIS_URL; REDIS_URL if empty"`

	RedlockURLs  []string `env:"REDLOCK_URLS" secret:"true" doc:"for LOCK=redlock: an odd number of independent Redis servers, separated by commas"`
	ZKAddr       string   `env:"ZK_ADDR" doc:"for LOCK=zk: host:port, several separated by commas; while the servers grant a session timeout (maxSessionTimeout, 40s by default) of less than LOCK_TTL, the instance is not ready"`
	EtcdAddr     string   `env:"ETCD_ADDR" doc:"for LOCK=etcd: host:port, several separated by commas; etcd's users are not supported"`
	MemcacheAddr string   `env:"MEMCACHE_ADDR" doc:"for LOCK=memcache: host:port or the path of a Unix socket; several separated by commas share the keys: the same on all instances, written the same, in any order; otherwise a key has two holders"`

	CouponCache  time.Duration `env:"COUPON_CACHE" envDefault:"200ms" limits:"0s..1m" doc:"longest age of the cached coupon (name, window, stock) that a claim checks first; 0 reads it for every claim"`
	ClaimTimeout time.Duration `env:"CLAIM_TIMEOUT" envDefault:"3s" limits:"100ms..1m" doc:"longest time from the header of a request until the response, which then is 503"`

	UserRate       float64        `env:"USER_RATE" envDefault:"20" limits:"0..1000000" doc:"requests a second of each user, on each instance; 0 for no limit"`
	UserBurst      int            `env:"USER_BURST" envDefault:"100" limits:"1..1000000" doc:"requests that a user may send at once"`
	AddressRate    float64        `env:"ADDRESS_RATE" envDefault:"50" limits:"0..1000000" doc:"requests a second without a valid token of each client address; 0 for no limit"`
	AddressBurst   int            `env:"ADDRESS_BURST" envDefault:"200" limits:"1..1000000" doc:"requests without a valid token that an address may send at once"`
	TrustedProxies []netip.Prefix `env:"TRUSTED_PROXIES" doc:"networks (10.0.0.0/8), separated by commas, of the proxies whose X-Real-IP is the client's address; without them the proxy itself is the client"`
	CORSOrigins    []string       `env:"CORS_ORIGINS" doc:"origins (https://shop.example), separated by commas, whose pages may use the API from a browser, or * for all; never with credentials: tokens travel in a header"`

	HTTPConns int `env:"HTTP_CONNS" envDefault:"1024" limits:"1..1000000" doc:"connections that this instance has open; further ones wait until others close, for a third of CLAIM_TIMEOUT at most, and then get 503"`

	DrainDelay   time.Duration `env:"DRAIN_DELAY" envDefault:"0s" limits:"0s..10m" doc:"time between /readyz turning 503 and the listener closing, for load balancers that poll /readyz"`
	DrainTimeout time.Duration `env:"DRAIN_TIMEOUT" envDefault:"15s" limits:"1ms..10m" doc:"longest wait at shutdown for requests and transactions in flight"`

	TracesExporter     string `env:"OTEL_TRACES_EXPORTER" doc:"otlp sends traces, none does not; if empty, they are sent if an endpoint is set"`
	OTLPEndpoint       string `env:"OTEL_EXPORTER_OTLP_ENDPOINT" doc:"URL of an OpenTelemetry collector, as http://host:4318"`
	OTLPTracesEndpoint string `env:"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT" doc:"the URL for traces as it is, instead of the above"`
	OTLPProtocol       string `env:"OTEL_EXPORTER_OTLP_PROTOCOL" envDefault:"http/protobuf" doc:"http/protobuf or grpc"`
	OTelDisabled       bool   `env:"OTEL_SDK_DISABLED" envDefault:"false" doc:"sends no traces, whatever the settings above say"`

	LogLevel   slog.Level    `env:"LOG_LEVEL" envDefault:"info" doc:"debug, info, warn or error"`
	AccessLog  float64       `env:"ACCESS_LOG" envDefault:"0" limits:"0..1" doc:"share of the requests that are logged, at level info: 0.01 for one of a hundred"`
	Docs       bool          `env:"DOCS" envDefault:"true" doc:"serve /docs and /openapi.json"`
	Migrate    bool          `env:"MIGRATE" envDefault:"true" doc:"apply missing migrations at start, one instance at a time"`
	Lab        bool          `env:"LAB" envDefault:"false" doc:"allows GUARDS_OFF and CLAIM_PAUSE, serves the page-view counter, /debug/pprof/ and /debug/sections; never in production"`
	GuardsOff  []string      `env:"GUARDS_OFF" doc:"guards to remove in the lab: stock, unique, number, end"`
	ClaimPause time.Duration `env:"CLAIM_PAUSE" envDefault:"0s" limits:"0s..10s" doc:"pause in the lab of each claim that has its lock, before it commits; without the guard end, of each return as well"`
}

// configFrom reads every setting. Its error joins a settingError for each
// setting that is wrong, and never quotes the value of a secret.
func configFrom(getenv func(string) string) (config, error) {
	cfg, found := readConfig(getenv)
	var errs []error
	for _, e := range found {
		errs = append(errs, e)
	}
	return cfg, errors.Join(errs...)
}

// readConfig reads every setting, and returns what is wrong with them.
func readConfig(getenv func(string) string) (config, []settingError) {
	set, found := environment(getenv)
	cfg, err := env.ParseAsWithOptions[config](env.Options{Environment: set})
	if cfg.Instance == "" {
		cfg.Instance, _ = os.Hostname()
	}
	found = addUnreported(found, parseErrors(err))
	return cfg, addUnreported(found, cfg.check())
}

// addUnreported adds those of more to found whose settings are not in found. The
// field of a setting that could not be read holds the zero value, which breaks
// rules of its own.
func addUnreported(found, more []settingError) []settingError {
	return append(found, slices.DeleteFunc(more, func(e settingError) bool {
		return slices.ContainsFunc(found, func(other settingError) bool { return other.name == e.name })
	})...)
}

// A settingError says what is wrong with one setting.
type settingError struct{ name, problem string }

func (e settingError) Error() string { return e.name + ": " + e.problem }

// parseErrors converts env's errors, which name fields, to errors that name
// settings.
func parseErrors(err error) []settingError {
	var found []settingError
	all, _ := errors.AsType[env.AggregateError](err)
	for _, err := range all.Errors {
		if missing, ok := errors.AsType[env.VarIsNotSetError](err); ok {
			found = append(found, settingError{missing.Key, "is not set"})
			continue
		}
		bad, _ := errors.AsType[env.ParseError](err)
		f, _ := reflect.TypeFor[config]().FieldByName(bad.Name)
		found = append(found, settingError{settingName(f), fmt.Sprintf("is not %s: %v", typeName(f.Type), bad.Err)})
	}
	return found
}

// typeName returns what the values of a setting's type are called.
func typeName(t reflect.Type) string {
	switch t {
	case reflect.TypeFor[time.Duration]():
		return "a duration like 1.5s"
	case reflect.TypeFor[[]netip.Prefix]():
		return "a list of networks like 10.0.0.0/8"
	case reflect.TypeFor[slog.Level]():
		return "a level"
	}
	return map[reflect.Kind]string{reflect.Int: "a whole number", reflect.Float64: "a number",
		reflect.Bool: "true or false"}[t.Kind()]
}

// check returns the rules that settings break beyond their types.
func (c config) check() []settingError {
	var broken []settingError
	require := func(ok bool, name, rule string) {
		if !ok {
			broken = append(broken, settingError{name, rule})
		}
	}
	_, _, addrErr := net.SplitHostPort(c.HTTPAddr)
	path, unix := strings.CutPrefix(c.HTTPAddr, "unix:")
	require(addrErr == nil && !unix || unix && path != "", "HTTP_ADDR", "must be host:port or unix:/path")
	broken = append(broken, c.checkServers()...)
	require(isPrefix.MatchString(c.RedisPrefix), "REDIS_PREFIX", "must have at most 14 printable characters, no braces")
	broken = append(broken, c.checkLimits()...)
	broken = append(broken, c.checkTokens()...)
	broken = append(broken, c.checkLock()...)
	require(slices.Contains([]string{"user", "coupon", "segment"}, c.LockScope), "LOCK_SCOPE",
		"must be user, coupon or segment")
	require(slices.Contains(commit.Strategies, commit.Strategy(c.Commit)), "COMMIT",
		fmt.Sprintf("must be one of %s", commit.Strategies))
	require(slices.Contains([]string{"", "otlp", "none"}, c.TracesExporter), "OTEL_TRACES_EXPORTER",
		"must be otlp or none")
	require(isHTTP(c.OTLPEndpoint), "OTEL_EXPORTER_OTLP_ENDPOINT", "must be a URL like http://host:4318")
	require(isHTTP(c.OTLPTracesEndpoint), "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT",
		"must be a URL like http://host:4318/v1/traces")
	require(slices.Contains([]string{"http/protobuf", "grpc"}, c.OTLPProtocol), "OTEL_EXPORTER_OTLP_PROTOCOL",
		"must be http/protobuf or grpc")
	for _, origin := range c.CORSOrigins {
		require(isOrigin(origin) || origin == "*" && len(c.CORSOrigins) == 1, "CORS_ORIGINS", fmt.Sprintf(
			"%q is no origin as browsers send it: https://shop.example, in lower case, with the port if it is not"+
				" the scheme's, and nothing after it; or * alone", origin))
	}
	for _, guard := range c.GuardsOff {
		require(slices.Contains([]string{"stock", "unique", "number", "end"}, guard), "GUARDS_OFF",
			fmt.Sprintf("unknown guard %q; the guards are stock, unique, number and end", guard))
	}
	require(c.Lab || len(c.GuardsOff) == 0, "GUARDS_OFF", "guards may be removed only with LAB=true")
	require(c.Lab || c.ClaimPause == 0, "CLAIM_PAUSE", "claims may pause only with LAB=true")
	require(c.Commit == "each" || len(c.GuardsOff) == 0, "GUARDS_OFF", "guards may be removed only with COMMIT=each")
	return broken
}

// isPrefix leaves 50 bytes for the longest key of a lock (see lock.MaxKey). A brace
// would begin a hash tag.
var isPrefix = regexp.MustCompile(`^[!-z|~]{0,14}$`)

// lockPrefix returns the prefix of the locks: none where other programs share them.
func (c config) lockPrefix() string {
	if c.Lock == "redis" || c.Lock == "redlock" {
		return c.RedisPrefix
	}
	return ""
}

// tracesOn reports whether the settings turn traces on.
func (c config) tracesOn() bool {
	switch {
	case c.OTelDisabled || c.TracesExporter == "none":
		return false
	case c.TracesExporter == "otlp":
		return true
	}
	return c.OTLPEndpoint != "" || c.OTLPTracesEndpoint != ""
}

// traces returns where traces go.
func (c config) traces() observe.Traces {
	t := observe.Traces{Instance: c.Instance, GRPC: c.OTLPProtocol == "grpc",
		URL: cmp.Or(c.OTLPTracesEndpoint, c.OTLPEndpoint)}
	if c.OTLPTracesEndpoint == "" && c.OTLPEndpoint != "" && !t.GRPC {
		t.URL, _ = url.JoinPath(c.OTLPEndpoint, "v1/traces") // checked already
	}
	return t
}

// checkServers tells what is wrong with a DSN or URL. Opening a pool does not connect it.
func (c config) checkServers() (broken []settingError) {
	check := func(name, value string, pool io.Closer, err error) {
		switch {
		case value == "": // reported as missing, or optional
		case err != nil:
			broken = append(broken, settingError{name, err.Error()})
		default:
			_ = pool.Close()
		}
	}
	db, err := connect.MySQL(c.MySQLDSN, 1)
	check("MYSQL_DSN", c.MySQLDSN, db, err)
	rdb, err := connect.Redis(c.RedisURL, 1)
	check("REDIS_URL", c.RedisURL, rdb, err)
	events, err := connect.Redis(c.EventsRedis, 1)
	check("EVENTS_REDIS", c.EventsRedis, events, err)
	return broken
}

var originForm = regexp.MustCompile(`^(http|https)://([a-z0-9_-]+(\.[a-z0-9_-]+)*|\[[0-9a-f:]+\])(:[1-9][0-9]{0,4})?$`)

// isOrigin reports whether a browser may send s as the Origin of a web page. Another
// way to write one would never match.
func isOrigin(s string) bool {
	m := originForm.FindStringSubmatch(s)
	return m != nil && m[1]+m[4] != "http:80" && m[1]+m[4] != "https:443"
}

// isHTTP reports whether address is empty or a URL of http or https.
func isHTTP(address string) bool {
	u, err := url.Parse(address)
	return address == "" || err == nil && u.Host != "" && (u.Scheme == "http" || u.Scheme == "https")
}

// canOpen reports whether a pool was opened, which does not connect it, and
// closes it.
func canOpen(pool io.Closer, err error) bool {
	if err != nil {
		return false
	}
	return pool.Close() == nil
}

// LogValue implements slog.LogValuer. It returns all settings in force, with
// the secrets masked.
func (c config) LogValue() slog.Value {
	var attrs []slog.Attr
	v := reflect.ValueOf(c)
	for f := range reflect.TypeFor[config]().Fields() {
		if f.Tag.Get("secret") != "" {
			attrs = append(attrs, slog.String(settingName(f), "***"))
			continue
		}
		attrs = append(attrs, slog.String(settingName(f), redact(fmt.Sprint(v.FieldByIndex(f.Index)))))
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
