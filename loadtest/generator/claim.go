package generator

import (
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

// Verdict is rig.VerdictOf, but that a 503 has to say when to come again.
func (r Reply) Verdict() string {
	if r.Status == http.StatusServiceUnavailable && !r.RetryAfter {
		return rig.Unexpected
	}
	return rig.VerdictOf(r.Status, r.Code)
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
		c := next(n)
		sent[n] = c
		return AppendClaim(b, "flashsale", strconv.FormatInt(c.Coupon, 10), c.Number, []byte(signer.Headers(c.User)))
	}, func(r Reply) {
		c := sent[r.Request]
		c.Sent, c.Received, c.Instance = r.Due, r.Received, r.Instance
		c.Verdict, c.Order = r.Verdict(), r.Order
		claims = append(claims, c)
	})
	if err != nil {
		return nil, err
	}
	g.Run(ctx, p)
	g.Drain(ctx)
	g.Close()
	return claims, ctx.Err()
}
