package soak

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"example.com/flashsale/loadtest/generator"
	"example.com/flashsale/loadtest/rig"
)

// A client calls the service as any user: through nginx, or an instance
// directly.
type client struct {
	instance string // empty through nginx
	api      rig.Client
	claims   *generator.Client
	signer   rig.TokenSigner
}

// clientTimeout is longer than any reply may take, to see how long a late one
// takes.
const clientTimeout = 20 * time.Second

// newClient returns a client of nginx at url.
func newClient(url string, signer rig.TokenSigner) (client, error) { return clientAt("", url, signer) }

// directClient returns a client of the instance at url.
func directClient(instance, url string, signer rig.TokenSigner) (client, error) {
	return clientAt(instance, url, signer)
}

func clientAt(instance, url string, signer rig.TokenSigner) (client, error) {
	claims, err := generator.NewClient(strings.TrimPrefix(url, "http://"), clientTimeout)
	return client{instance, rig.Client{URL: url, HTTP: &http.Client{Timeout: clientTimeout}}, claims, signer}, err
}

// name says which client it is, in messages.
func (c client) name() string {
	if c.instance == "" {
		return "nginx"
	}
	return "instance " + c.instance
}

// A reply is what the service replied. The status is 0 if there was no complete
// reply.
type reply struct {
	status int
	Code   string `json:"code"`
	ID     string `json:"id"`
	Order  string `json:"order_id"`

	sent, received time.Time // of a claim; the connection was begun before, if it is a new one
}

// verdict returns accepted, unknown, or the code of a refusal. After unknown the
// claim may or may not have been committed.
func (r reply) verdict() string {
	switch {
	case r.status == http.StatusCreated:
		return rig.Accepted
	case r.status == 0 || r.status >= 500:
		return unknown
	case r.Code != "":
		return r.Code
	}
	return strconv.Itoa(r.status)
}

const unknown = "unknown"

func (c client) claim(ctx context.Context, cl claim) reply {
	headers := c.signer.Headers(cl.user)
	r := c.claims.Do(ctx, generator.AppendClaim(nil, "soak", strconv.FormatInt(cl.coupon, 10), []byte(headers)))
	return reply{status: r.Status, Code: r.Code, ID: r.Order, Order: r.Order, sent: r.Due, received: r.Received}
}

func (c client) readOrder(ctx context.Context, user, order int64) reply {
	return c.do(ctx, http.MethodGet, fmt.Sprintf("/orders/%d", order), c.signer.User(user), nil)
}

func (c client) createCoupon(ctx context.Context, coupon rig.NewCoupon) reply {
	return c.do(ctx, http.MethodPost, "/coupons", c.signer.Admin(), coupon)
}

func (c client) restock(ctx context.Context, coupon int64, units int) reply {
	return c.do(ctx, http.MethodPost, fmt.Sprintf("/coupons/%d/stock", coupon), c.signer.Admin(),
		map[string]int{"add": units})
}

func (c client) do(ctx context.Context, method, path, token string, body any) reply {
	status, text, err := c.api.Do(ctx, method, path, token, body)
	r := reply{status: status}
	if err != nil || json.Unmarshal(text, &r) != nil {
		return reply{} // none, or truncated
	}
	return r
}

// number parses an id. It returns 0 if s is none.
func number(s string) int64 {
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil {
		return 0
	}
	return n
}
