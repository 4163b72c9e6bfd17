// Package httpapi serves the flash sale over HTTP: its routes, operations and
// authorization, and the one table that maps errors to responses.
//
// Every response of the package that is not a success is an application/problem+json
// document with a stable code, and every response names its instance. The package holds
// no state of the sale; packages coupon and order decide.
package httpapi

import (
	"bytes"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/trace"
	"golang.org/x/time/rate"

	"example.com/flashsale/internal/admission"
	"example.com/flashsale/internal/admission/ratelimit"
	"example.com/flashsale/internal/auth"
	"example.com/flashsale/internal/batchread"
	"example.com/flashsale/internal/coupon"
	"example.com/flashsale/internal/idgen"
	"example.com/flashsale/internal/observe"
	"example.com/flashsale/internal/observe/tracing"
	"example.com/flashsale/internal/order"
	"example.com/flashsale/internal/order/life"
)

// Config holds what an API needs. Every field is required unless it says otherwise.
type Config struct {
	Coupons   *coupon.Store
	Cache     *coupon.Cache // invalidated by changes, so that this instance sees them at once
	CouponIDs *idgen.Worker
	Claims    *order.Claims
	Orders    *order.Store
	Life      *life.Orders

	Verifier  *auth.Verifier
	Users     *ratelimit.Limiter[int64]        // of the requests with a valid token, by user; nil for no limit
	Addresses *ratelimit.Limiter[netip.Prefix] // of all others, by the client's address; nil for no limit
	// of the proxies whose X-Real-IP is the client's address; may be empty
	TrustedProxies []netip.Prefix

	// CORSOrigins are those whose pages may use the API, or * alone; none if empty.
	CORSOrigins []string

	// Now is the clock of what is created; nil means the instance's own.
	Now func() time.Time

	Instance    string            // the value of X-Instance
	Timeout     admission.Timeout // the longest time until a response
	Connections int               // that stay open
	Probes      []Probe           // what /readyz checks
	Docs        bool              // serve /docs and /openapi.json

	Metrics   *prometheus.Registry
	Traces    trace.TracerProvider // nil: no traces
	Log       *slog.Logger
	AccessLog float64 // the share of the requests that Log gets, 0 to 1
}

// An API is the HTTP handler of the service. Use it once the database has been checked.
type API struct {
	cfg      Config
	handler  http.Handler
	tracer   tracing.Tracer
	metrics  *observe.Requests
	outage   rate.Sometimes // says when to log that requests are unavailable
	invalid  rate.Sometimes // says when to log why a token is refused
	failing  sync.Map       // the causes by the names of the probes that failed the last time
	probes   *batchread.Reader[struct{}, struct{}, []error]
	audits   *batchread.Reader[int64, struct{}, order.Audit] // by coupon: each occupies a connection for long
	unready  atomic.Bool                                     // a server that claims need is unavailable: see Watch
	suspect  chan struct{}                                   // has an element if Watch is to look at once
	draining atomic.Bool
	delayed  chan struct{} // has an element for each refusal that waits
	clientIP func(http.Handler) http.Handler
}

// New returns an API.
func New(c Config) *API {
	if c.Now == nil {
		c.Now = time.Now
	}
	a := &API{cfg: c, tracer: tracing.New(c.Traces), delayed: make(chan struct{}, min(maxDelayed, c.Connections/2)),
		outage: rate.Sometimes{Interval: logInterval}, invalid: rate.Sometimes{Interval: logInterval},
		suspect: make(chan struct{}, 1), clientIP: clientIP(c.TrustedProxies)}
	a.probes = batchread.New(neverSlow, a.runProbes)
	a.audits = batchread.New(neverSlow, a.runAudit)
	a.metrics = observe.NewRequests(c.Metrics, claimCodes()...)
	for _, p := range c.Probes {
		observe.Dependency(c.Metrics, p.Name, func() bool { return a.isUp(p.Name) })
	}
	observe.Draining(c.Metrics, a.draining.Load)
	a.handler = a.routes()
	return a
}

// ServeHTTP implements http.Handler.
func (a *API) ServeHTTP(w http.ResponseWriter, r *http.Request) { a.handler.ServeHTTP(w, r) }

// Overloaded returns the HTTP response to a request that is refused unread,
// because others take all of the capacity. It closes the connection.
func (a *API) Overloaded() []byte {
	body, _ := encode(overloaded)
	resp := &http.Response{
		StatusCode: overloaded.Status, ProtoMajor: 1, ProtoMinor: 1, Close: true,
		Header:        http.Header{"Content-Type": {overloaded.ContentType("")}},
		ContentLength: int64(len(body)), Body: io.NopCloser(bytes.NewReader(body)),
	}
	a.setHeaders(resp.Header)
	maps.Copy(resp.Header, overloaded.header)
	if len(a.cfg.CORSOrigins) > 0 { // of any origin: which it is has not been read, and the response tells nothing
		resp.Header.Set("Access-Control-Allow-Origin", "*")
		resp.Header.Set("Access-Control-Expose-Headers", "Retry-After, X-Instance")
	}
	var b bytes.Buffer
	_ = resp.Write(&b) // a Buffer returns no error
	return b.Bytes()
}

// Drain makes /readyz reply 503 and closes each client's connection after its
// next response. Requests are still served.
func (a *API) Drain() { a.draining.Store(true) }
