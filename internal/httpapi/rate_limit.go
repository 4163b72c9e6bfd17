package httpapi

import (
	"math/rand/v2"
	"net/http"
	"net/netip"
	"time"

	"github.com/go-chi/chi/v5/middleware"
)

// A refusal of a user is delayed, by refusalDelay to twice as much: the
// requests of many connections that were refused together would come back
// together. A client that repeats its requests without a pause is thus slowed down
// instead of occupying the CPU with refusals. At most maxDelayed refusals wait at a
// time, and no more than half of Config.Connections, because each occupies a
// connection, and at nginx the place of a claim. Strangers are refused at once: what they
// have proven is nothing.
const (
	refusalDelay = time.Second
	maxDelayed   = 1024
)

// limitAddress returns a handler that passes requests on to next until their
// client's address has exceeded the limit. It is for requests without a valid
// token: those with one are counted by user, so that a stranger cannot use up
// what the users behind the same address may do.
func (a *API) limitAddress(next http.Handler) http.Handler {
	return a.clientIP(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if a.allowAddress(middleware.GetClientIPAddr(r.Context())) {
			next.ServeHTTP(w, r)
			return
		}
		a.metrics.Limited("address")
		rateLimited.write(w)
	}))
}

// clientIP returns a middleware that determines the client's address: that of
// the connection, or what X-Real-IP says if a trusted proxy has connected.
func clientIP(trusted []netip.Prefix) func(http.Handler) http.Handler {
	if len(trusted) == 0 {
		return middleware.ClientIPFromRemoteAddr
	}
	var prefixes []string
	for _, p := range trusted {
		prefixes = append(prefixes, p.String())
	}
	return middleware.ClientIPFromHeader("X-Real-IP", prefixes...)
}

// allowAddress reports whether the limit of an address allows a request. An IPv6
// address counts by its first 64 bits, the least that a customer is assigned. All unknown
// addresses, as of a Unix socket, count as one.
func (a *API) allowAddress(ip netip.Addr) bool {
	bits := 64
	if ip.Is4() {
		bits = 32
	}
	network, _ := ip.Prefix(bits)
	return a.cfg.Addresses.Allow(network)
}

// refuseUser replies that a user's limit is exceeded, after a delay.
func (a *API) refuseUser(w http.ResponseWriter, r *http.Request) {
	a.metrics.Limited("user")
	select {
	case a.delayed <- struct{}{}:
		select {
		case <-time.After(refusalDelay + rand.N(refusalDelay)):
		case <-r.Context().Done():
		}
		<-a.delayed
	default:
	}
	rateLimited.write(w)
}
