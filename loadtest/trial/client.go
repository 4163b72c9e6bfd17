package trial

import (
	"context"
	"crypto/rand"
	"fmt"
	"net/http"
	"time"

	"example.com/flashsale/loadtest/generator"
	"example.com/flashsale/loadtest/rig"
)

// A Client sends requests to one address, and records in History what it was told.
type Client struct {
	rig.Client
	Name, Address string // what it calls, which its claims have as their instance; host:port
	Signer        rig.TokenSigner
	History       *History
}

// replyLimit is longer than any reply may take, to see how long a late one takes.
const replyLimit = 20 * time.Second

// NewClient returns a client of address.
func NewClient(name, address string, signer rig.TokenSigner, h *History) Client {
	c := Client{rig.NewClient("http://" + address), name, address, signer, h}
	c.HTTP.Timeout = replyLimit
	return c
}

// Claim makes a claim.
func (c Client) Claim(ctx context.Context, one rig.Claim) rig.Claim {
	return c.record(c.Client.Claim(ctx, c.Signer, one))
}

// Claims makes the claims of a phase.
func (c Client) Claims(ctx context.Context, p generator.Phase, next func(n int) rig.Claim) ([]rig.Claim, error) {
	all, err := generator.Claims(ctx, c.Address, replyLimit, p, c.Signer, next)
	for i := range all {
		all[i] = c.record(all[i])
	}
	return all, err
}

func (c Client) record(got rig.Claim) rig.Claim {
	got.Instance = c.Name
	c.History.Add(got)
	return got
}

// Read reads the order of a claim.
func (c Client) Read(ctx context.Context, of rig.Claim) Operation {
	o := Operation{Kind: Read, Claim: of}
	return c.ask(ctx, o, http.MethodGet, "/orders/"+of.Order, c.Signer.User(of.User), nil)
}

// Return returns the order of a claim.
func (c Client) Return(ctx context.Context, of rig.Claim) Operation {
	o := Operation{Kind: Return, Claim: of}
	return c.ask(ctx, o, http.MethodDelete, "/orders/"+of.Order, c.Signer.User(of.User), nil)
}

// Use uses the order of a claim.
func (c Client) Use(ctx context.Context, of rig.Claim) Operation {
	o := Operation{Kind: Use, Claim: of, Reference: rand.Text()}
	body := map[string]string{"reference": o.Reference}
	return c.ask(ctx, o, http.MethodPut, "/orders/"+of.Order+"/use", c.Signer.Admin(), body)
}

// Restock adds units to a coupon.
func (c Client) Restock(ctx context.Context, coupon int64, units int) Operation {
	o := Operation{Kind: Restock, Claim: rig.Claim{Coupon: coupon}, Units: units}
	return c.ask(ctx, o, http.MethodPost, fmt.Sprintf("/coupons/%d/stock", coupon), c.Signer.Admin(),
		map[string]int{"add": units})
}

func (c Client) ask(ctx context.Context, o Operation, method, path, token string, body any) Operation {
	o.Sent = time.Now()
	o.Verdict = c.Ask(ctx, method, path, token, body)
	o.Received = time.Now()
	c.History.change(o)
	return o
}
