// Package up runs the service in the foreground, with one coupon on sale, to try it by
// hand: as shipped, or in the lab, where the articles' experiments can be repeated.
package up

import (
	"context"
	"fmt"
	"io"
	"os"

	"example.com/flashsale/loadtest/rig"
)

// Run starts the stack, prints how to use it, and stops it when ctx ends.
func Run(ctx context.Context) error { return run(ctx, os.Stdout) }

func run(ctx context.Context, out io.Writer) error {
	return rig.With(func(s *rig.Stack) error {
		c, err := configuration(s, os.Getenv)
		if err != nil {
			return err
		}
		sale, err := s.NewSale(ctx, c.settings...)
		if err != nil {
			return err
		}
		defer sale.Close()
		fleet, err := sale.StartFleet("api", c.nginx, nil, nil)
		if err != nil {
			return err
		}
		if err := c.printWelcome(ctx, out, fleet.Nginx.URL, sale, s.Signer()); err != nil {
			return err
		}
		<-ctx.Done()
		fmt.Fprintln(out, "stopping …")
		return fleet.Stop()
	})
}
