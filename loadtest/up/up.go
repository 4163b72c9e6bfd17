// Package up runs the service as shipped in the foreground, with one coupon on
// sale, to try it by hand.
package up

import (
	"context"
	"fmt"
	"io"
	"os"

	"example.com/flashsale/internal/lab"
	"example.com/flashsale/loadtest/rig"
)

const welcome = `
The sale is open at %[1]s (Ctrl-C stops it, with all its servers).

  curl -s -H 'Authorization: Bearer %[3]s' %[1]s/coupons/%[2]s
  curl -s -X POST -H 'Authorization: Bearer %[3]s' %[1]s/coupons/%[2]s/orders
  curl -s -H 'Authorization: Bearer %[4]s' %[1]s/coupons/%[2]s/audit

The tokens belong to user 42 and to an admin, and are valid for a day. All operations: %[1]s/docs
To send the demo's load to this stack, start it with USER_RATE=0, because one burst is of one user. Then, from another
terminal:

  BASE_URL=%[1]s JWT_SECRET=%[5]s make load
`

// Run starts the stack, prints how to use it, and stops it when ctx ends.
func Run(ctx context.Context) error { return run(ctx, os.Stdout) }

func run(ctx context.Context, out io.Writer) error {
	return rig.With(func(s *rig.Stack) error {
		// As in docker-compose.yml. Other settings may come from the environment.
		sale, err := s.NewSale(ctx, "LAB=false", "TRUSTED_PROXIES=127.0.0.0/8")
		if err != nil {
			return err
		}
		defer sale.Close()
		pair, err := sale.StartFleet("api", lab.StartLimitedNginx, nil, nil)
		if err != nil {
			return err
		}
		if err := printWelcome(ctx, out, pair.Nginx.URL, s.Signer()); err != nil {
			return err
		}
		<-ctx.Done()
		fmt.Fprintln(out, "stopping …")
		return pair.Stop()
	})
}

func printWelcome(ctx context.Context, out io.Writer, url string, signer rig.TokenSigner) error {
	coupons, err := rig.NewClient(url).CreateCoupons(ctx, signer.Admin(), rig.SevenEach)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(out, welcome, url, coupons[0], signer.User(42), signer.Admin(), signer)
	return err
}
