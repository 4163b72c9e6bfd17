package lab

import (
	"context"
	"net"
)

// FreePort returns a loopback TCP port that was free when FreePort looked.
// Another process may take it before the caller listens on it; see
// WithFreePort.
func FreePort() (int, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port, nil
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

// accepts returns a readiness check that connects to address.
func accepts(network, address string) func(context.Context) error {
	return func(ctx context.Context) error {
		conn, err := new(net.Dialer).DialContext(ctx, network, address)
		if err != nil {
			return err
		}
		return conn.Close()
	}
}
