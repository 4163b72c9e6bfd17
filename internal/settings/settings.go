// Package settings reads the service's settings from the environment and from files, refuses those that
// are wrong, each by its name, and says what they mean to the parts of the service.
package settings

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"net/url"
	"os"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/caarlos0/env/v11"

	"example.com/flashsale/internal/admission"
	"example.com/flashsale/internal/auth"
	"example.com/flashsale/internal/observe"
	"example.com/flashsale/internal/order"
	"example.com/flashsale/internal/order/commit"
)

// Settings holds every setting. A field tagged secret is never printed, and its
// value may be in a file. The tag limits holds the least and the greatest value of
// a number or a duration. The doc tag is the setting's row in docs/settings.md.
type Settings struct {
	HTTPAddr string `env:"HTTP_ADDR" envDefault:"127.0.0.1:8080" doc:"host:port, or unix:/path"`
	Instance string `env:"INSTANCE" doc:"value of the header X-Instance; the host name if empty"`

	MySQLDSN    string `env:"MYSQL_DSN,required" secret:"true" doc:"user:password@tcp(host:3306)/database"`
	MySQLConns  int    `env:"MYSQL_CONNS" envDefault:"24" limits:"1..1000" doc:"size of the connection pool; COMMIT=grouped has a second one of this size for its batches"`
	RedisURL    string `env:"REDIS_URL,required" secret:"true" doc:"redis://user:password@host:6379/0 or unix:///path; redis+sentinel://host:26379/0?master_name=main&addr=host2:26379; redis+cluster://user:password@host:6379?addr=host2:6379; rediss for TLS"`
	RedisConns  int    `env:"REDIS_CONNS" envDefault:"32" limits:"1..1000" doc:"size of the connection pool"`
	RedisPrefix string `env:"REDIS_PREFIX" envDefault:"flashsale:" doc:"begins the keys that are this installation's alone: the counters of the ids, the stream of EVENTS and, with LOCK=redis or redlock, the locks; at most 14 printable characters, no braces"`

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
	ClaimPause time.Duration `env:"CLAIM_PAUSE" envDefault:"0s" limits:"0s..10s" doc:"pause in the lab of each claim that has its lock, before it commits; without the guard end, of each return and use instead"`
}

// From reads every setting. Its error joins an Error for each setting that is wrong, and never
// quotes the value of a secret.
func From(getenv func(string) string) (Settings, error) { return Some(getenv, "") }

// Some is From for a command that needs only the settings whose names begin with prefix: the
// others may be wrong.
func Some(getenv func(string) string, prefix string) (Settings, error) {
	set, wrong := environment(getenv)
	s, err := env.ParseAsWithOptions[Settings](env.Options{Environment: set})
	if s.Instance == "" {
		s.Instance, _ = os.Hostname()
	}
	wrong.addParsed(err)
	s.check(&wrong)
	var errs []error
	for _, e := range wrong {
		if strings.HasPrefix(e.Name, prefix) {
			errs = append(errs, e)
		}
	}
	return s, errors.Join(errs...)
}

// An Error says what is wrong with one setting.
type Error struct{ Name, Problem string }

func (e Error) Error() string { return e.Name + ": " + e.Problem }

// problems holds the first problem of each setting that is wrong. The field of one that could not
// be read holds the zero value, which breaks rules of its own.
type problems []Error

func (p *problems) require(ok bool, name, rule string) {
	if !ok && !p.of(name) {
		*p = append(*p, Error{name, rule})
	}
}

// of reports whether one of the settings is wrong.
func (p *problems) of(names ...string) bool {
	return slices.ContainsFunc(*p, func(e Error) bool { return slices.Contains(names, e.Name) })
}

func (p *problems) refuse(name string, err error) {
	if err != nil {
		p.require(false, name, err.Error())
	}
}

// addParsed adds env's errors, which name fields.
func (p *problems) addParsed(err error) {
	all, _ := errors.AsType[env.AggregateError](err)
	for _, err := range all.Errors {
		if missing, ok := errors.AsType[env.VarIsNotSetError](err); ok {
			p.require(false, missing.Key, "is not set")
			continue
		}
		bad, _ := errors.AsType[env.ParseError](err)
		f, _ := reflect.TypeFor[Settings]().FieldByName(bad.Name)
		p.require(false, nameOf(f), fmt.Sprintf("is not %s: %v", typeName(f.Type), bad.Err))
	}
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

// Lacks reports whether the lab has removed a guard.
func (s Settings) Lacks(guard string) bool { return slices.Contains(s.GuardsOff, guard) }

// Strategy returns how orders are committed.
func (s Settings) Strategy() commit.Strategy {
	if s.Lacks("stock") {
		return commit.Unguarded
	}
	return commit.Strategy(s.Commit)
}

// KeysOff returns the unique keys that the lab removes.
func (s Settings) KeysOff() []string {
	if s.Lacks("unique") {
		return []string{"one_each"}
	}
	return nil
}

// LockPrefix returns the prefix of the locks: none where other programs share them.
func (s Settings) LockPrefix() string {
	if s.Lock == "redis" || s.Lock == "redlock" {
		return s.RedisPrefix
	}
	return ""
}

// Timeout returns the longest time until a response.
func (s Settings) Timeout() admission.Timeout { return admission.Timeout(s.ClaimTimeout) }

// Running returns how many claims run at a time.
func (s Settings) Running() int { return min(order.MaxRunning, s.HTTPConns) }

// Tokens says which tokens the service accepts, apart from those that a JWKS
// verifies. The first secret signs those of Signer.
func (s Settings) Tokens() auth.Config {
	secrets, _ := auth.ParseSecrets(s.JWTSecrets) // checked already
	if s.JWTSecret != "" {
		secrets = append(secrets, auth.Secret{Key: []byte(s.JWTSecret)})
	}
	return auth.Config{Secrets: secrets, Issuer: s.JWTIssuer, Audience: s.JWTAudience}
}

// Signer returns the signer of the command token.
func (s Settings) Signer() (auth.Signer, error) {
	tokens := s.Tokens()
	if len(tokens.Secrets) == 0 {
		return auth.Signer{}, errors.New("JWT_SECRET: is not set, and only secrets sign tokens")
	}
	return auth.Signer{Secret: tokens.Secrets[0], Issuer: tokens.Issuer, Audience: tokens.Audience}, nil
}

// Traces returns where traces go, and whether the settings turn them on.
func (s Settings) Traces() (to observe.Traces, on bool) {
	to = observe.Traces{Instance: s.Instance, GRPC: s.OTLPProtocol == "grpc",
		URL: cmp.Or(s.OTLPTracesEndpoint, s.OTLPEndpoint)}
	if s.OTLPTracesEndpoint == "" && s.OTLPEndpoint != "" && !to.GRPC {
		to.URL, _ = url.JoinPath(s.OTLPEndpoint, "v1/traces") // checked already
	}
	off := s.OTelDisabled || s.TracesExporter == "none"
	return to, !off && (s.TracesExporter == "otlp" || to.URL != "")
}
