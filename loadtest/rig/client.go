package rig

import (
	"bytes"
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

// NewClient returns a client of the service at url, which has no trailing slash.
func NewClient(url string) Client {
	return Client{URL: url, HTTP: &http.Client{Timeout: 30 * time.Second}}
}

// Do sends body, if it is not nil, as JSON, with token as the bearer token, and
// returns the reply's status and body. An error means that no complete reply
// came.
func (c Client) Do(ctx context.Context, method, path, token string, body any) (status int, reply []byte, err error) {
	var payload io.Reader = http.NoBody
	if body != nil {
		b, err := json.Marshal(body)
		if err != nil {
			return 0, nil, err
		}
		payload = bytes.NewReader(b)
	}
	req, err := http.NewRequestWithContext(ctx, method, c.URL+path, payload)
	if err != nil {
		return 0, nil, err
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
	resp, err := c.HTTP.Do(req)
	if err != nil {
		return 0, nil, err
	}
	defer resp.Body.Close()
	reply, err = io.ReadAll(io.LimitReader(resp.Body, 16<<20))
	return resp.StatusCode, reply, err
}

// Ask is Do for a change, and returns the verdict on it: Accepted, the code of its refusal,
// or Lost if its outcome is unknown.
func (c Client) Ask(ctx context.Context, method, path, token string, body any) (verdict string) {
	status, reply, err := c.Do(ctx, method, path, token, body)
	var problem struct{ Code string }
	switch {
	case err != nil, status >= http.StatusInternalServerError:
		return Lost
	case status == http.StatusOK:
		return Accepted
	case json.Unmarshal(reply, &problem) == nil && problem.Code != "":
		return problem.Code
	}
	return Unexpected
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

// CreateCoupons creates a coupon that is on sale for each round of w and returns
// their ids.
func (c Client) CreateCoupons(ctx context.Context, admin string, w Workload) ([]string, error) {
	ids := make([]string, w.Rounds)
	for i := range ids {
		coupon := CouponFrom(time.Now().Add(-time.Hour), fmt.Sprintf("burst %d", i+1), w.Stock)
		coupon.Segments, coupon.Limit, coupon.Returned = w.Segments, w.Limit, w.Returned
		if w.Returned {
			coupon.Hold = 10
		}
		created := struct{ ID string }{}
		if err := c.Call(ctx, http.MethodPost, "/coupons", admin, coupon, http.StatusCreated, &created); err != nil {
			return nil, err
		}
		ids[i] = created.ID
	}
	return ids, nil
}

// Accounts returns the service's own audit of coupons.
func (c Client) Accounts(ctx context.Context, admin string, coupons []string) ([]Account, error) {
	accounts := make([]Account, len(coupons))
	for i, id := range coupons {
		err := c.Call(ctx, http.MethodGet, "/coupons/"+id+"/audit", admin, nil, http.StatusOK, &accounts[i])
		if err != nil {
			return nil, err
		}
	}
	return accounts, nil
}
