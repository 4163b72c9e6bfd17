package main

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/caarlos0/env/v11"

	"example.com/flashsale/internal/connect"
)

// config is every setting. A field tagged secret is never printed; the doc tag
// is its row in the README.
type config struct {
	HTTPAddr string `env:"HTTP_ADDR" envDefault:"127.0.0.1:8080" doc:"host:port, or unix:/path"`
	Instance string `env:"INSTANCE" doc:"what X-Instance says; the host's name if empty"`

	MySQLDSN   string `env:"MYSQL_DSN,required" secret:"true" doc:"user:password@tcp(host:3306)/database"`
	MySQLConns int    `env:"MYSQL_CONNS" envDefault:"24" doc:"size of the pool; all may stay idle; COMMIT=grouped has a second one of that size, for its batches"`
	RedisURL   string `env:"REDIS_URL,required" secret:"true" doc:"redis://user:password@host:6379/0 or unix:///path; redis+sentinel://host:26379/0?master_name=main&addr=host2:26379; redis+cluster://user:password@host:6379?addr=host2:6379; rediss for TLS"`
	RedisConns int    `env:"REDIS_CONNS" envDefault:"32" doc:"size of the pool"`
	JWTSecret  string `env:"JWT_SECRET,required" secret:"true" doc:"at least 32 bytes; the same on every instance"`

	Lock      string        `env:"LOCK" envDefault:"redis" doc:"redis, redisson (shared with Java), redlock, mysql (rows), getlock, zk, etcd, memcache; local and none hold nothing across instances, leave the refusing to the database and are warned about"`
	LockScope string        `env:"LOCK_SCOPE" envDefault:"user" doc:"user: one try for each user; coupon: claims of a coupon wait for each other"`
	LockTTL   time.Duration `env:"LOCK_TTL" envDefault:"30s" doc:"how long a lock outlives an instance that died holding it"`
	LockWait  time.Duration `env:"LOCK_WAIT" envDefault:"10s" doc:"longest wait with scope coupon; CLAIM_TIMEOUT may end it first"`
	Commit    string        `env:"COMMIT" envDefault:"grouped" doc:"how claims are made durable; grouped: the claims of a coupon share transactions; each, optimistic, pessimistic: a transaction for every claim, the stock guarded by a condition, the row's version or the row's lock"`

	RedlockURLs  []string `env:"REDLOCK_URLS" secret:"true" doc:"for LOCK=redlock: an odd number of independent Redis, with commas between"`
	ZKAddr       string   `env:"ZK_ADDR" doc:"for LOCK=zk: host:port, more after commas; LOCK_TTL is the session's timeout, which the servers must allow"`
	EtcdAddr     string   `env:"ETCD_ADDR" doc:"for LOCK=etcd: host:port, more after commas"`
	MemcacheAddr string   `env:"MEMCACHE_ADDR" doc:"for LOCK=memcache: host:port or a socket's path"`

	CouponCache  time.Duration `env:"COUPON_CACHE" envDefault:"200ms" doc:"how old a coupon's name, window and stock may be when a claim looks at them; 0 asks every time"`
	ClaimTimeout time.Duration `env:"CLAIM_TIMEOUT" envDefault:"3s" doc:"longest wait for an answer, then 503; a third of it is kept for letting go of locks and for finding out whether a commit was made"`

	DrainDelay   time.Duration `env:"DRAIN_DELAY" envDefault:"0s" doc:"time between readiness going off and the listener closing, for load balancers that poll /readyz"`
	DrainTimeout time.Duration `env:"DRAIN_TIMEOUT" envDefault:"15s" doc:"longest wait for requests in flight at the end"`

	LogLevel  slog.Level `env:"LOG_LEVEL" envDefault:"info" doc:"debug, info, warn or error"`
	Migrate   bool       `env:"MIGRATE" envDefault:"true" doc:"apply missing migrations at start; instances that start together take turns"`
	Lab       bool       `env:"LAB" envDefault:"false" doc:"allows GUARDS_OFF, serves the page-view counter and /debug/pprof/; never in production"`
	GuardsOff []string   `env:"GUARDS_OFF" doc:"guards to take away in the lab: stock, unique"`
}

// configFrom reads every setting and reports everything that is wrong at once,
// by name. It never quotes the value of a secret.
func configFrom(getenv func(string) string) (config, error) {
	cfg, err := env.ParseAsWithOptions[config](env.Options{Environment: environment(getenv)})
	if cfg.Instance == "" {
		cfg.Instance, _ = os.Hostname()
	}
	complaints := complaintsOf(err)
	for _, c := range cfg.check() {
		unread := slices.ContainsFunc(complaints, func(other complaint) bool { return other.name == c.name })
		if !unread { // otherwise its value is not what was set
			complaints = append(complaints, c)
		}
	}
	var errs []error
	for _, c := range complaints {
		errs = append(errs, c)
	}
	return cfg, errors.Join(errs...)
}

// environment asks for the names that config knows. An empty value counts as
// none, as it does for most programs.
func environment(getenv func(string) string) map[string]string {
	set := map[string]string{}
	for f := range reflect.TypeFor[config]().Fields() {
		if v := getenv(settingName(f)); v != "" {
			set[settingName(f)] = v
		}
	}
	return set
}

func settingName(f reflect.StructField) string {
	name, _, _ := strings.Cut(f.Tag.Get("env"), ",")
	return name
}

// A complaint is what is wrong with one setting.
type complaint struct{ name, what string }

func (c complaint) Error() string { return c.name + ": " + c.what }

// complaintsOf gives env's errors, which name fields, the names of settings.
func complaintsOf(err error) []complaint {
	var cs []complaint
	all, _ := errors.AsType[env.AggregateError](err)
	for _, err := range all.Errors {
		if missing, ok := errors.AsType[env.VarIsNotSetError](err); ok {
			cs = append(cs, complaint{missing.Key, "is not set"})
			continue
		}
		bad, _ := errors.AsType[env.ParseError](err)
		f, _ := reflect.TypeFor[config]().FieldByName(bad.Name)
		cs = append(cs, complaint{settingName(f), fmt.Sprintf("not a %s: %v", f.Type, bad.Err)})
	}
	return cs
}

// check is what the types cannot say.
func (c config) check() []complaint {
	var cs []complaint
	want := func(ok bool, name, what string) {
		if !ok {
			cs = append(cs, complaint{name, what})
		}
	}
	_, _, addrErr := net.SplitHostPort(c.HTTPAddr)
	path, unix := strings.CutPrefix(c.HTTPAddr, "unix:")
	want(addrErr == nil && !unix || unix && path != "", "HTTP_ADDR", "want host:port or unix:/path")
	want(c.MySQLDSN == "" || opens(connect.MySQL(c.MySQLDSN, 1)), "MYSQL_DSN", "want user:password@tcp(host:3306)/database")
	want(c.RedisURL == "" || opens(connect.Redis(c.RedisURL, 1)), "REDIS_URL", "want redis://user:password@host:6379/0, redis+sentinel://… or redis+cluster://…")
	want(c.MySQLConns > 0, "MYSQL_CONNS", "want at least 1")
	want(c.RedisConns > 0, "REDIS_CONNS", "want at least 1")
	want(len(c.JWTSecret) >= 32, "JWT_SECRET", "want at least 32 bytes")
	want(slices.Contains(locks, c.Lock), "LOCK", "want one of "+strings.Join(locks, ", "))
	want(c.Lock != "redlock" || len(c.RedlockURLs)%2 == 1, "REDLOCK_URLS", "want an odd number of Redis URLs for LOCK=redlock")
	for _, url := range c.RedlockURLs {
		want(opens(connect.Redis(url, 1)), "REDLOCK_URLS", "want redis://user:password@host:6379/0, and a comma between")
	}
	want(c.Lock != "zk" || c.ZKAddr != "", "ZK_ADDR", "is not set, but LOCK=zk")
	want(c.Lock != "etcd" || c.EtcdAddr != "", "ETCD_ADDR", "is not set, but LOCK=etcd")
	want(c.Lock != "memcache" || c.MemcacheAddr != "", "MEMCACHE_ADDR", "is not set, but LOCK=memcache")
	want(slices.Contains([]string{"user", "coupon"}, c.LockScope), "LOCK_SCOPE", "want user or coupon")
	want(slices.Contains([]string{"grouped", "each", "optimistic", "pessimistic"}, c.Commit), "COMMIT", "want grouped, each, optimistic or pessimistic")
	want(c.LockTTL >= time.Second, "LOCK_TTL", "want at least 1s")
	want(c.LockWait > 0, "LOCK_WAIT", "want more than 0")
	want(c.CouponCache >= 0, "COUPON_CACHE", "want 0 or more")
	want(c.ClaimTimeout >= 100*time.Millisecond, "CLAIM_TIMEOUT", "want at least 100ms")
	want(c.DrainDelay >= 0, "DRAIN_DELAY", "want 0 or more")
	want(c.DrainTimeout > 0, "DRAIN_TIMEOUT", "want more than 0")
	for _, guard := range c.GuardsOff {
		want(slices.Contains([]string{"stock", "unique"}, guard), "GUARDS_OFF", fmt.Sprintf("no guard %q; there are stock and unique", guard))
	}
	want(c.Lab || len(c.GuardsOff) == 0, "GUARDS_OFF", "guards may be taken away only with LAB=true")
	want(c.Commit == "each" || len(c.GuardsOff) == 0, "GUARDS_OFF", "guards may be taken away only with COMMIT=each, the articles' flow")
	return cs
}

// opens reports whether a pool could be made, which does not connect it.
func opens(pool io.Closer, err error) bool {
	if err != nil {
		return false
	}
	return pool.Close() == nil
}

// LogValue implements slog.LogValuer: all settings as they are in force, the
// secrets masked.
func (c config) LogValue() slog.Value {
	var attrs []slog.Attr
	v := reflect.ValueOf(c)
	for f := range reflect.TypeFor[config]().Fields() {
		if f.Tag.Get("secret") != "" {
			attrs = append(attrs, slog.String(settingName(f), "***"))
			continue
		}
		attrs = append(attrs, slog.String(settingName(f), fmt.Sprint(v.FieldByIndex(f.Index))))
	}
	return slog.GroupValue(attrs...)
}
