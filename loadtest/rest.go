package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"example.com/flashsale/internal/auth"
)

// A Service is the sale as its clients see it.
type Service struct {
	URL   string // without a slash at the end
	Admin string // a token with the admin role
}

// onSale creates one coupon for each of w's bursts.
func (s Service) onSale(ctx context.Context, w Workload) ([]string, error) {
	ids := make([]string, w.Rounds)
	for i := range ids {
		now := time.Now().UTC()
		coupon := map[string]any{
			"name": fmt.Sprintf("burst %d", i+1), "stock": w.Stock,
			"begin_time": now.Add(-time.Hour), "end_time": now.Add(24 * time.Hour),
		}
		made := struct{ ID string }{}
		if err := s.call(ctx, http.MethodPost, "/coupons", s.Admin, coupon, http.StatusCreated, &made); err != nil {
			return nil, err
		}
		ids[i] = made.ID
	}
	return ids, nil
}

// audit asks the service for its own account of coupons; it cannot tell
// whether acknowledged orders are missing.
func (s Service) audit(ctx context.Context, w Workload, coupons []string) (Audit, error) {
	var a Audit
	for _, id := range coupons {
		var said struct {
			Stock  int
			Orders int
			Users  int `json:"distinct_users"`
		}
		if err := s.call(ctx, http.MethodGet, "/coupons/"+id+"/audit", s.Admin, nil, http.StatusOK, &said); err != nil {
			return Audit{}, err
		}
		a.add(sold{ID: id, Initial: w.Stock, Left: said.Stock, Orders: said.Orders, Users: said.Users}, w.Users)
	}
	return a, nil
}

// call sends body as JSON and decodes the answer, which must have this status.
func (s Service) call(ctx context.Context, method, path, token string, body any, status int, answer any) error {
	var payload io.Reader
	if body != nil {
		b, err := json.Marshal(body)
		if err != nil {
			return err
		}
		payload = bytes.NewReader(b)
	}
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, method, s.URL+path, payload)
	if err != nil {
		return err
	}
	req.Header.Set("Authorization", "Bearer "+token)
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	said, err := io.ReadAll(io.LimitReader(resp.Body, 1<<20))
	if err != nil {
		return err
	}
	if resp.StatusCode != status {
		return fmt.Errorf("%s %s: %s: %s", method, path, resp.Status, strings.TrimSpace(string(said)))
	}
	return json.Unmarshal(said, answer)
}

// token is user's identity, or the admin's, for a day.
func token(secret string, user int64, admin bool) (string, error) {
	id := auth.Identity{UserID: user}
	if admin {
		id.Role = auth.RoleAdmin
	}
	return auth.Sign([]byte(secret), id, 24*time.Hour)
}
