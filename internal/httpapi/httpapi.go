// Package httpapi speaks HTTP for the flash sale: routes, operations,
// identity, and the one table that turns errors into answers.
//
// Every answer that is not a success is an application/problem+json document
// with a stable code, and every answer names the instance that gave it. The
// package holds no state of the sale: what it says, coupon and order decided.
package httpapi

import (
	"log/slog"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"example.com/flashsale/internal/auth"
	"example.com/flashsale/internal/coupon"
	"example.com/flashsale/internal/idgen"
	"example.com/flashsale/internal/order"
)

// Config is what the API is made of. Every field is required.
type Config struct {
	Coupons   *coupon.Store
	Cache     *coupon.Cache // told of changes, so that this instance sees them at once
	CouponIDs *idgen.Worker
	Claims    *order.Claims
	Orders    *order.Store

	Secret   []byte        // verifies tokens
	Instance string        // what X-Instance says
	Timeout  time.Duration // the longest that a client waits for an answer
	Probes   []Probe       // what /readyz asks

	Metrics *prometheus.Registry
	Log     *slog.Logger
}

// An API answers HTTP requests. Until Open it answers the sale's routes with
// 503, since nobody has looked at the database yet.
type API struct {
	Config
	handler  http.Handler
	verifier *auth.Verifier
	metrics  *metrics
	places   chan struct{} // full when claimsAtOnce claims are worked on
	quiet    atomic.Int64  // unix second of the last complaint about a missing server
	phase    atomic.Int32
}

// The life of an API, in order.
const (
	starting int32 = iota
	serving
	draining
)

// New makes an API that is starting.
func New(c Config) *API {
	a := &API{Config: c, verifier: auth.NewVerifier(c.Secret), metrics: newMetrics(c.Metrics), places: make(chan struct{}, claimsAtOnce)}
	a.handler = a.routes()
	return a
}

// ServeHTTP implements http.Handler.
func (a *API) ServeHTTP(w http.ResponseWriter, r *http.Request) { a.handler.ServeHTTP(w, r) }

// Open lets requests through. It does nothing if the API is already draining.
func (a *API) Open() { a.phase.CompareAndSwap(starting, serving) }

// Drain takes readiness away and asks clients to close their connections with
// the next answer. Requests are still answered as ever.
func (a *API) Drain() { a.phase.Store(draining) }
