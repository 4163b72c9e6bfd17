package settings

import (
	"fmt"
	"io"
	"net"
	"net/netip"
	"net/url"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"example.com/flashsale/internal/auth"
	"example.com/flashsale/internal/connect"
	"example.com/flashsale/internal/lock/drivers"
	"example.com/flashsale/internal/order/commit"
)

// Locks lists the values of LOCK.
var Locks = slices.Concat(drivers.Remote, []string{"local", "none"})

// The forms of values.
const (
	hostPort = `([\w.-]+|\[[0-9a-fA-F:.]+\]):[0-9]{1,5}`
	path     = `/[^,\s]+`
)

var (
	// prefixForm leaves 50 bytes for the longest key of a lock (see lock.MaxKey). A brace
	// would begin a hash tag.
	prefixForm = regexp.MustCompile(`^[!-z|~]{0,14}$`)
	originForm = regexp.MustCompile(`^(http|https)://([a-z0-9_-]+(\.[a-z0-9_-]+)*|\[[0-9a-f:]+\])(:[1-9][0-9]{0,4})?$`)
)

// check adds the rules that settings break beyond their types. It quotes no value that may hold a
// password.
func (s Settings) check(p *problems) {
	_, _, addrErr := net.SplitHostPort(s.HTTPAddr)
	socket, unix := strings.CutPrefix(s.HTTPAddr, "unix:")
	p.require(addrErr == nil && !unix || unix && socket != "", "HTTP_ADDR", "must be host:port or unix:/path")
	p.oneOf("LOCK", s.Lock, Locks...)
	p.oneOf("LOCK_SCOPE", s.LockScope, "user", "coupon", "segment")
	p.require(slices.Contains(commit.Strategies, commit.Strategy(s.Commit)), "COMMIT",
		fmt.Sprintf("must be one of %s", commit.Strategies))
	p.oneOf("OTEL_TRACES_EXPORTER", s.TracesExporter, "otlp", "none", "")
	p.oneOf("OTEL_EXPORTER_OTLP_PROTOCOL", s.OTLPProtocol, "http/protobuf", "grpc")
	p.require(isHTTP(s.OTLPEndpoint), "OTEL_EXPORTER_OTLP_ENDPOINT", "must be a URL like http://host:4318")
	p.require(isHTTP(s.OTLPTracesEndpoint), "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT",
		"must be a URL like http://host:4318/v1/traces")
	for _, origin := range s.CORSOrigins {
		p.require(isOrigin(origin) || origin == "*" && len(s.CORSOrigins) == 1, "CORS_ORIGINS", fmt.Sprintf(
			"%q is no origin as browsers send it: https://shop.example, in lower case, with the port if it is not"+
				" the scheme's, and nothing after it; or * alone", origin))
	}
	for _, network := range s.TrustedProxies {
		plain := netip.PrefixFrom(network.Addr().Unmap(), max(0, network.Bits()-96))
		p.require(!network.Addr().Is4In6(), "TRUSTED_PROXIES", "has IPv4 in the form of IPv6: write "+plain.String())
	}
	s.checkServers(p)
	s.checkPorts(p)
	s.checkLimits(p)
	s.checkTokens(p)
	s.checkLab(p)
}

func (p *problems) oneOf(name, value string, allowed ...string) {
	p.require(slices.Contains(allowed, value), name, "must be one of "+strings.Trim(strings.Join(allowed, ", "), ", "))
}

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

func (s Settings) checkServers(p *problems) {
	if s.MySQLDSN != "" { // else it is reported as missing
		p.refuse("MYSQL_DSN", opens(connect.MySQL(s.MySQLDSN, 1)))
	}
	if s.RedisURL != "" {
		p.refuse("REDIS_URL", opens(connect.Redis(s.RedisURL, 1)))
	}
	if s.EventsRedis != "" {
		p.refuse("EVENTS_REDIS", opens(connect.Redis(s.EventsRedis, 1)))
	}
	p.require(prefixForm.MatchString(s.RedisPrefix), "REDIS_PREFIX",
		"must have at most 14 printable characters, no braces")
	p.require(s.Lock != "zk" && s.ZKAddr == "" || isList(s.ZKAddr, hostPort), "ZK_ADDR",
		"must be host:port for LOCK=zk, several separated by commas")
	p.require(s.Lock != "etcd" && s.EtcdAddr == "" || isList(s.EtcdAddr, "(https?://)?"+hostPort, "unix://"+path),
		"ETCD_ADDR", "must be host:port for LOCK=etcd, several separated by commas, without a user and a password")
	p.require(s.Lock != "memcache" && s.MemcacheAddr == "" || isList(s.MemcacheAddr, hostPort, path), "MEMCACHE_ADDR",
		"must be host:port or /path for LOCK=memcache, several separated by commas")
	s.checkRedlock(p)
}

// portForm finds the ports of an address, a DSN, a URL or a list of them, without the password.
var portForm = regexp.MustCompile(`:([0-9]+)([),?&/]|$)`)

// checkPorts refuses ports that no server can have. The libraries would notice when they connect.
func (s Settings) checkPorts(p *problems) {
	for _, of := range []struct {
		name   string
		values []string
	}{
		{"HTTP_ADDR", []string{s.HTTPAddr}}, {"MYSQL_DSN", []string{s.MySQLDSN}}, {"REDIS_URL", []string{s.RedisURL}},
		{"EVENTS_REDIS", []string{s.EventsRedis}}, {"REDLOCK_URLS", s.RedlockURLs}, {"ZK_ADDR", []string{s.ZKAddr}},
		{"ETCD_ADDR", []string{s.EtcdAddr}}, {"MEMCACHE_ADDR", []string{s.MemcacheAddr}},
		{"JWT_JWKS", []string{s.JWTJWKS}}, {"CORS_ORIGINS", s.CORSOrigins},
		{"OTEL_EXPORTER_OTLP_ENDPOINT", []string{s.OTLPEndpoint}},
		{"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", []string{s.OTLPTracesEndpoint}},
	} {
		for _, value := range of.values {
			for _, port := range portForm.FindAllStringSubmatch(value[strings.LastIndex(value, "@")+1:], -1) {
				_, err := strconv.ParseUint(port[1], 10, 16)
				p.require(err == nil, of.name, "has a port that is greater than 65535")
			}
		}
	}
}

// opens closes a pool that was opened, which does not connect it.
func opens(pool io.Closer, err error) error {
	if err == nil {
		_ = pool.Close()
	}
	return err
}

func (s Settings) checkRedlock(p *problems) {
	servers := map[string]bool{}
	for _, url := range s.RedlockURLs {
		p.require(opens(connect.Redis(url, 1)) == nil, "REDLOCK_URLS",
			"must have URLs like redis://user:password@host:6379/0, separated by commas")
		servers[connect.RedisServer(url)] = true
	}
	p.require(len(servers) == len(s.RedlockURLs), "REDLOCK_URLS", "must lead to different servers")
	p.require(s.Lock != "redlock" || len(servers)%2 == 1, "REDLOCK_URLS",
		"must have an odd number of URLs for LOCK=redlock")
}

// isList reports whether each part of list, which commas separate, has one of the
// forms.
func isList(list string, forms ...string) bool {
	form := `(` + strings.Join(forms, `|`) + `)`
	return regexp.MustCompile(`^` + form + `(,` + form + `)*$`).MatchString(list)
}

// checkLimits checks that numbers and durations are within the limits of their tags.
func (s Settings) checkLimits(p *problems) {
	for f := range reflect.TypeFor[Settings]().Fields() {
		if least, greatest, limited := strings.Cut(f.Tag.Get("limits"), ".."); limited {
			n := number(fmt.Sprint(reflect.ValueOf(s).FieldByIndex(f.Index)))
			p.require(n >= number(least) && n <= number(greatest), nameOf(f),
				fmt.Sprintf("must be %s to %s", least, greatest))
		}
	}
}

// number returns the number that text shows, or of a duration the nanoseconds. It panics if there is none.
func number(text string) float64 {
	if d, err := time.ParseDuration(text); err == nil {
		return float64(d)
	}
	n, err := strconv.ParseFloat(text, 64)
	if err != nil {
		panic(err)
	}
	return n
}

func (s Settings) checkTokens(p *problems) {
	p.require(s.JWTSecret != "" || len(s.JWTSecrets) > 0 || s.JWTJWKS != "" || p.of("JWT_SECRETS", "JWT_JWKS"),
		"JWT_SECRET", "is not set, nor is JWT_SECRETS or JWT_JWKS")
	if s.JWTSecret != "" {
		p.refuse("JWT_SECRET", auth.CheckSecret(s.JWTSecret))
	}
	_, err := auth.ParseSecrets(s.JWTSecrets)
	p.refuse("JWT_SECRETS", err)
	if s.JWTJWKS != "" {
		_, err := auth.ParseJWKSLocation(s.JWTJWKS)
		p.refuse("JWT_JWKS", err)
	}
}

func (s Settings) checkLab(p *problems) {
	for _, guard := range s.GuardsOff {
		p.require(slices.Contains([]string{"stock", "unique", "number", "end"}, guard), "GUARDS_OFF",
			fmt.Sprintf("unknown guard %q; the guards are stock, unique, number and end", guard))
	}
	p.require(s.Lab || len(s.GuardsOff) == 0, "GUARDS_OFF", "guards may be removed only with LAB=true")
	p.require(s.Lab || s.ClaimPause == 0, "CLAIM_PAUSE", "claims may pause only with LAB=true")
	p.require(s.Commit == "each" || len(s.GuardsOff) == 0, "GUARDS_OFF", "guards may be removed only with COMMIT=each")
}
