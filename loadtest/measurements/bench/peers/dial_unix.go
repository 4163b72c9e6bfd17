package main

import (
	"context"
	"crypto/tls"
	"net"
)

// dialUnix lets rueidis connect to a Unix socket.
func dialUnix(ctx context.Context, path string, d *net.Dialer, _ *tls.Config) (net.Conn, error) {
	return d.DialContext(ctx, "unix", path)
}
