package lab

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"sync"
	"syscall"
)

// given has the ports that FreePort has returned.
var given sync.Map

// FreePort returns a loopback TCP port that was free when FreePort looked, each only once:
// clients may still look there for a server that was killed, or that does not listen yet.
// Another process may take it before the caller listens on it; see WithFreePort.
//
// The port is below those that Linux and macOS give to clients. Otherwise one of
// thousands of connections could have taken it when a server restarts.
func FreePort() (int, error) {
	for {
		port := 10_000 + rand.IntN(22_000)
		if _, before := given.LoadOrStore(port, true); before {
			continue
		}
		l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port))
		if errors.Is(err, syscall.EADDRINUSE) {
			continue
		}
		if err != nil {
			return 0, err
		}
		return port, l.Close()
	}
}

// WithFreePort calls start with a free port until start succeeds, at most five
// times, each time with another port. It returns what the last call returned.
func WithFreePort[S any](start func(port int) (S, error)) (s S, err error) {
	for range 5 {
		var port int
		if port, err = FreePort(); err != nil {
			return s, err
		}
		if s, err = start(port); err == nil {
			return s, nil
		}
	}
	return s, err
}

// Accepts returns a readiness check that connects to address.
func Accepts(network, address string) func(context.Context) error {
	return func(ctx context.Context) error {
		conn, err := new(net.Dialer).DialContext(ctx, network, address)
		if err != nil {
			return err
		}
		return conn.Close()
	}
}
