// Package race shows the race for a coupon in a browser, while it happens. It
// serves one page on loopback. The page starts races: the same burst of claims
// at two services that differ in what the user chose, each of real instances
// behind nginx over private servers.
//
// Nothing on the page is computed from the settings. Claims are what the client
// measured, critical sections are what the instances report, and counts are read
// from the database.
package race

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"path/filepath"
	"time"

	"example.com/flashsale/loadtest/rig"
)

// Run starts the servers, serves the page until ctx ends, and stops everything.
func Run(ctx context.Context) error {
	return With(ctx, func(ctx context.Context, url string) error {
		fmt.Printf("\nThe race is at %s (Ctrl-C stops it, with all its servers).\n", url)
		openBrowser(url)
		<-ctx.Done()
		fmt.Println("stopping …")
		return nil
	})
}

// With starts the servers and calls use with the address of the page. It stops
// everything when use has returned. The context of use ends with ctx, and when
// the page can no longer be served.
func With(ctx context.Context, use func(ctx context.Context, url string) error) error {
	fmt.Println("starting MySQL and Redis …")
	return rig.With(func(s *rig.Stack) error {
		ctx, stop := context.WithCancel(ctx)
		defer stop()
		session, err := newSession(ctx, s, archive(filepath.Join("out", "race")))
		if err != nil {
			return err
		}
		listener, err := listen()
		if err != nil {
			return err
		}
		served := make(chan error, 1)
		go func() {
			defer stop()
			served <- session.serve(ctx, listener)
		}()
		err = use(ctx, "http://"+listener.Addr().String()+"/")
		stop()
		return errors.Join(err, <-served)
	})
}

// The first port is fixed, so that a bookmark works; the others are for sessions
// beside it.
const firstPort, ports = 8090, 100

func listen() (l net.Listener, err error) {
	for port := firstPort; port < firstPort+ports; port++ {
		if l, err = net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port)); err == nil {
			return l, nil
		}
	}
	return nil, err
}

// serve serves the page on listener until ctx ends, and returns when the last
// race has ended.
func (s *session) serve(ctx context.Context, listener net.Listener) error {
	server := &http.Server{Handler: s.handler(listener.Addr()), ReadHeaderTimeout: 5 * time.Second}
	stop := context.AfterFunc(ctx, func() { _ = server.Close() })
	defer stop()
	err := server.Serve(listener)
	s.running.Wait()
	if errors.Is(err, http.ErrServerClosed) && ctx.Err() != nil {
		return nil
	}
	return err
}
