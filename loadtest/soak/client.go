package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"example.com/flashsale/loadtest/rig"
)

// A client speaks to the service through nginx, in anybody's name.
type client struct {
	url  string
	http *http.Client
	mint rig.Mint
}

func newClient(url string, mint rig.Mint) client {
	return client{url, &http.Client{
		Transport: &http.Transport{MaxIdleConnsPerHost: 2 * crowd},
		Timeout:   10 * time.Second,
	}, mint}
}

// An answer is what came back; a status of 0 means that nothing did.
type answer struct {
	status int
	Code   string `json:"code"`
	ID     string `json:"id"`
	Order  string `json:"order_id"`
}

// verdict is one word for an answer. "unknown" leaves open what was done.
func (a answer) verdict() string {
	switch {
	case a.status == http.StatusCreated:
		return "accepted"
	case a.status == 0 || a.status >= 500:
		return "unknown"
	case a.Code != "":
		return a.Code
	}
	return strconv.Itoa(a.status)
}

func (c client) claim(ctx context.Context, user, coupon int64) answer {
	return c.do(ctx, http.MethodPost, fmt.Sprintf("/coupons/%d/orders", coupon), c.mint.Token(user), "")
}

func (c client) readOrder(ctx context.Context, user int64, order int64) answer {
	return c.do(ctx, http.MethodGet, fmt.Sprintf("/orders/%d", order), c.mint.Token(user), "")
}

func (c client) create(ctx context.Context, name string, begin time.Time, stock int) answer {
	body := fmt.Sprintf(`{"name":%q,"begin_time":%q,"end_time":%q,"stock":%d}`,
		name, begin.UTC().Format(time.RFC3339Nano), begin.Add(24*time.Hour).UTC().Format(time.RFC3339Nano), stock)
	return c.do(ctx, http.MethodPost, "/coupons", c.mint.Admin(), body)
}

func (c client) restock(ctx context.Context, coupon int64, add int) answer {
	return c.do(ctx, http.MethodPost, fmt.Sprintf("/coupons/%d/stock", coupon), c.mint.Admin(), fmt.Sprintf(`{"add":%d}`, add))
}

func (c client) do(ctx context.Context, method, path, token, body string) answer {
	req, err := http.NewRequestWithContext(ctx, method, c.url+path, strings.NewReader(body))
	if err != nil {
		panic(err) // all our URLs are well formed
	}
	req.Header.Set("Authorization", "Bearer "+token)
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	status, text, err := rig.Answer(c.http, req)
	if err != nil {
		return answer{}
	}
	a := answer{status: status}
	if json.Unmarshal([]byte(text), &a) != nil {
		return answer{} // cut off
	}
	return a
}

func number(id string) int64 {
	n, err := strconv.ParseInt(id, 10, 64)
	if err != nil {
		return 0
	}
	return n
}
