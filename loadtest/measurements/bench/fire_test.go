package bench

import (
	"context"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"

	"example.com/flashsale/loadtest/clients"
	"example.com/flashsale/loadtest/generator"
)

const (
	// perProcess is how many clients a process has. A process may be limited to
	// 20,000 open files or fewer.
	perProcess = 10_000
	// connectTime is how long connecting may take. nginx closes a connection without a
	// request after 10 s (client_header_timeout).
	connectTime = 8 * time.Second
	// lead is the time from the last connection to the moment.
	lead = 500 * time.Millisecond
)

// errSlow reports that connecting took longer than connectTime, on a machine that
// is busy with other programs.
var errSlow = errors.New("connecting took too long")

// fire has n users claim at one moment, each on a connection of its own that is
// open before.
func fire(ctx context.Context, l clients.Load, n int) (all clients.Result, err error) {
	begin := time.Now()
	processes, err := connectCrowd(ctx, l, n)
	if err != nil {
		return all, err
	}
	if took := time.Since(begin); took > connectTime {
		for _, p := range processes {
			err = errors.Join(err, p.Kill())
		}
		return all, errors.Join(fmt.Errorf("%w: it took %s", errSlow, took), err)
	}
	moment := time.Now().Add(lead)
	results := make([][]clients.Result, len(processes))
	var group errgroup.Group
	for i, p := range processes {
		group.Go(func() (err error) {
			results[i], err = p.Run(moment)
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return all, err
	}
	all.Begin = moment
	for _, r := range results {
		all.Claims, all.Detail = append(all.Claims, r[0].Claims...), all.Detail+r[0].Detail
	}
	return all, nil
}

// connectCrowd divides n users among processes, and connects them.
func connectCrowd(ctx context.Context, l clients.Load, n int) ([]*clients.Process, error) {
	processes := make([]*clients.Process, (n+perProcess-1)/perProcess)
	var group errgroup.Group
	for i := range processes {
		part := l
		part.First = i * perProcess
		part.Connect = min(perProcess, n-part.First)
		part.Phases = []generator.Phase{{Clients: part.Connect, Count: part.Connect}}
		group.Go(func() (err error) {
			processes[i], err = clients.Start(ctx, part)
			return err
		})
	}
	return processes, group.Wait()
}
