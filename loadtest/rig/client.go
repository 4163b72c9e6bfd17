package rig

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"time"
)

// A Client calls the service's HTTP API.
type Client struct {
	URL  string // without a trailing slash
	HTTP *http.Client
	Key  string // the Idempotency-Key of its requests; empty: none
}

// transport keeps the connections of as many goroutines as call the service at a time.
var transport = &http.Transport{MaxIdleConnsPerHost: 4096}

// NewClient returns a client of the service at url, which has no trailing slash. Many goroutines
// may use it at a time.
func NewClient(url string) Client {
	return Client{URL: url, HTTP: &http.Client{Transport: transport, Timeout: 30 * time.Second}}
}

// Do sends body, if it is not nil, as JSON, with token as the bearer token, and
// returns the reply's status and body. An error means that no complete reply
// came.
func (c Client) Do(ctx context.Context, method, path, token string, body any) (status int, reply []byte, err error) {
	resp, reply, err := c.send(ctx, method, path, token, body)
	if err != nil {
		return 0, nil, err
	}
	return resp.StatusCode, reply, nil
}

func (c Client) send(
	ctx context.Context, method, path, token string, body any,
) (resp *http.Response, reply []byte, err error) {
	var payload io.Reader = http.NoBody
	if body != nil {
		b, err := json.Marshal(body)
		if err != nil {
			return nil, nil, err
		}
		payload = bytes.NewReader(b)
	}
	req, err := http.NewRequestWithContext(ctx, method, c.URL+path, payload)
	if err != nil {
		return nil, nil, err
	}
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	if c.Key != "" {
		req.Header.Set("Idempotency-Key", c.Key)
	}
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	resp, err = c.HTTP.Do(req)
	if err != nil {
		return nil, nil, err
	}
	defer resp.Body.Close()
	reply, err = io.ReadAll(io.LimitReader(resp.Body, 16<<20))
	return resp, reply, err
}

// Claim makes the claim of a user, a coupon and a number, and returns it with its reply.
// The time of a new connection is part of the claim's.
func (c Client) Claim(ctx context.Context, signer TokenSigner, one Claim) Claim {
	path := fmt.Sprintf("/coupons/%d/orders", one.Coupon)
	if one.Number > 1 {
		path += fmt.Sprintf("?number=%d", one.Number)
	}
	token := signer.User(one.User)
	one.Sent = time.Now()
	resp, reply, err := c.send(ctx, http.MethodPost, path, token, nil)
	if one.Received = time.Now(); err != nil {
		one.Verdict = Lost
		return one
	}
	one.Instance = resp.Header.Get("X-Instance")
	one.Verdict, one.Order = readReply(resp.StatusCode, reply)
	return one
}

// Ask is Do for a change, and returns the verdict on it, as on a claim.
func (c Client) Ask(ctx context.Context, method, path, token string, body any) (verdict string) {
	status, reply, err := c.Do(ctx, method, path, token, body)
	switch {
	case err != nil:
		return Lost
	case status == http.StatusOK:
		return Accepted
	}
	verdict, _ = readReply(status, reply)
	return verdict
}

// readReply returns the verdict of a reply, and the order that it names.
func readReply(status int, reply []byte) (verdict, order string) {
	var said struct {
		ID, Code string
		Order    string `json:"order_id"`
	}
	_ = json.Unmarshal(reply, &said) // what is no JSON says nothing
	return VerdictOf(status, said.Code), cmp.Or(said.Order, said.ID)
}

// Call is Do for a reply that must have the status want. It decodes the reply
// into out.
func (c Client) Call(ctx context.Context, method, path, token string, body any, want int, out any) error {
	status, reply, err := c.Do(ctx, method, path, token, body)
	if err != nil {
		return err
	}
	if status != want {
		return fmt.Errorf("%s %s: status %d, want %d: %s", method, path, status, want, bytes.TrimSpace(reply))
	}
	return json.Unmarshal(reply, out)
}

// A NewCoupon is the body of POST /coupons.
type NewCoupon struct {
	Name     string    `json:"name"`
	Begin    time.Time `json:"begin_time"`
	End      time.Time `json:"end_time"`
	Stock    int       `json:"stock"`
	Segments int       `json:"segments,omitempty"`
	Limit    int       `json:"per_user,omitempty"`
	Hold     int       `json:"hold_seconds,omitempty"`
	Returned bool      `json:"returnable,omitempty"`
}

// CouponFrom returns a coupon whose sale lasts a day from begin.
func CouponFrom(begin time.Time, name string, stock int) NewCoupon {
	return NewCoupon{Name: name, Begin: begin.UTC(), End: begin.Add(24 * time.Hour).UTC(), Stock: stock}
}

// CreateCoupon creates a coupon and returns its id.
func (c Client) CreateCoupon(ctx context.Context, admin string, n NewCoupon) (id string, err error) {
	var created struct{ ID string }
	err = c.Call(ctx, http.MethodPost, "/coupons", admin, n, http.StatusCreated, &created)
	return created.ID, err
}
