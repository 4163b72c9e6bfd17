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
	fmt.Println("starting MySQL and Redis …")
	return rig.With(func(s *rig.Stack) error {
		session, err := newSession(ctx, s, archive(filepath.Join("out", "race")))
		if err != nil {
			return err
		}
		listener, err := listen()
		if err != nil {
			return err
		}
		url := "http://" + listener.Addr().String() + "/"
		fmt.Printf("\nThe race is at %s (Ctrl-C stops it, with all its servers).\n", url)
		openBrowser(url)
		return session.serve(ctx, listener)
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
	stop := context.AfterFunc(ctx, func() {
		fmt.Println("stopping …")
		_ = server.Close()
	})
	defer stop()
	err := server.Serve(listener)
	s.running.Wait()
	if errors.Is(err, http.ErrServerClosed) && ctx.Err() != nil {
		return nil
	}
	return err
}
