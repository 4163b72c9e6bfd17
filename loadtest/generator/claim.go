package generator

import (
	"cmp"
	"context"
	"net/http"
	"strconv"
	"time"

	"example.com/flashsale/loadtest/rig"
)

// AppendClaim appends a claim of the coupon to b. headers are those of the user,
// each with its end of line.
func AppendClaim(b []byte, host, coupon string, headers []byte) []byte {
	b = append(append(append(b, "POST /coupons/"...), coupon...), "/orders HTTP/1.1\r\nHost: "...)
	b = append(append(append(b, host...), "\r\n"...), headers...)
	return append(b, "Content-Length: 0\r\n\r\n"...)
}

// Claim claims coupon for user. The time of a new connection is part of the
// claim's.
func (c *Client) Claim(ctx context.Context, signer rig.TokenSigner, user, coupon int64) rig.Claim {
	return claimOf(user, coupon, c.Do(ctx, signedClaim(nil, signer, user, coupon)))
}

// Claims sends the claims of a phase to address and returns them when it has all
// replies. next returns the user and the coupon of the n-th. The end of ctx is that
// of the phase and of the wait, and an error.
func Claims(
	ctx context.Context, address string, timeout time.Duration, p Phase, signer rig.TokenSigner,
	next func(n int) (user, coupon int64),
) (claims []rig.Claim, err error) {
	type owner struct{ user, coupon int64 }
	owners := map[int]owner{}
	g, err := New(address, timeout, func(b []byte, n int) []byte {
		user, coupon := next(n)
		owners[n] = owner{user, coupon}
		return signedClaim(b, signer, user, coupon)
	}, func(r Reply) {
		o := owners[r.Request]
		claims = append(claims, claimOf(o.user, o.coupon, r))
	})
	if err != nil {
		return nil, err
	}
	g.Run(ctx, p)
	g.Drain(ctx)
	g.Close()
	return claims, ctx.Err()
}

func signedClaim(b []byte, signer rig.TokenSigner, user, coupon int64) []byte {
	return AppendClaim(b, "flashsale", strconv.FormatInt(coupon, 10), []byte(signer.Headers(user)))
}

func claimOf(user, coupon int64, r Reply) rig.Claim {
	return rig.Claim{
		User: user, Coupon: coupon, Sent: r.Due, Received: r.Received,
		Verdict: verdictOf(r), Order: r.Order, Instance: r.Instance,
	}
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
