package generator

import (
	"cmp"
	"context"
	"net/http"
	"strconv"
	"time"

	"example.com/flashsale/loadtest/rig"
)

// AppendClaim appends a claim of the coupon to b, of that number among those which the
// coupon allows a user. headers are those of the user, each with its end of line.
func AppendClaim(b []byte, host, coupon string, number int, headers []byte) []byte {
	b = append(append(append(b, "POST /coupons/"...), coupon...), "/orders"...)
	if number > 1 {
		b = strconv.AppendInt(append(b, "?number="...), int64(number), 10)
	}
	b = append(append(append(append(b, " HTTP/1.1\r\nHost: "...), host...), "\r\n"...), headers...)
	return append(b, "Content-Length: 0\r\n\r\n"...)
}

// Claim makes the claim of a user, a coupon and a number, and returns it with its reply.
// The time of a new connection is part of the claim's.
func (c *Client) Claim(ctx context.Context, signer rig.TokenSigner, one rig.Claim) rig.Claim {
	return answered(one, c.Do(ctx, signedClaim(nil, signer, one)))
}

// Claims sends the claims of a phase to address and returns them when it has all
// replies. next returns the n-th. The end of ctx is that of the phase and of the wait,
// and an error.
func Claims(
	ctx context.Context, address string, timeout time.Duration, p Phase, signer rig.TokenSigner,
	next func(n int) rig.Claim,
) (claims []rig.Claim, err error) {
	sent := map[int]rig.Claim{}
	g, err := New(address, timeout, func(b []byte, n int) []byte {
		sent[n] = next(n)
		return signedClaim(b, signer, sent[n])
	}, func(r Reply) { claims = append(claims, answered(sent[r.Request], r)) })
	if err != nil {
		return nil, err
	}
	g.Run(ctx, p)
	g.Drain(ctx)
	g.Close()
	return claims, ctx.Err()
}

func signedClaim(b []byte, signer rig.TokenSigner, c rig.Claim) []byte {
	return AppendClaim(b, "flashsale", strconv.FormatInt(c.Coupon, 10), c.Number, []byte(signer.Headers(c.User)))
}

// answered returns c with its reply.
func answered(c rig.Claim, r Reply) rig.Claim {
	c.Sent, c.Received, c.Verdict, c.Order, c.Instance = r.Due, r.Received, verdictOf(r), r.Order, r.Instance
	return c
}

func verdictOf(r Reply) string {
	switch {
	case r.Status == http.StatusCreated:
		return rig.Accepted
	case r.Status == http.StatusServiceUnavailable:
		return cmp.Or(r.Code, rig.Unavailable)
	case r.Status == 0 || r.Status >= http.StatusInternalServerError:
		return rig.Lost
	}
	return cmp.Or(r.Code, strconv.Itoa(r.Status))
}
