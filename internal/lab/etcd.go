package lab

import (
	"context"
	"net"
	"net/http"
	"path/filepath"
)

// StartEtcd starts an etcd of one member on a Unix socket. A short election timeout makes
// it ready at once, and makes it grant leases as short as one second, etcd's minimum. Its
// address is the endpoint for an etcd client.
func StartEtcd(l *Lab) (*Server, error) {
	path, err := l.path(EtcdServer)
	if err != nil {
		return nil, err
	}
	return l.serve(EtcdServer, "etcd", func(dir string) (Program, error) {
		// etcd requires host:port for a socket too, and creates a file of that name.
		socket := filepath.Join(dir, "s:1")
		return Program{
			Path: "/bin/sh", Address: "unix://" + socket,
			Args: []string{
				// etcd does not start on the sockets that a killed etcd left
				"-c", `rm -f s:1 p:1; exec "$0" "$@"`, path,
				"--data-dir=data", "--log-level=error", "--heartbeat-interval=20", "--election-timeout=200",
				"--listen-client-urls=unix://s:1", "--advertise-client-urls=unix://s:1",
				"--listen-peer-urls=unix://p:1", "--initial-advertise-peer-urls=unix://p:1",
				"--initial-cluster=default=unix://p:1",
			},
			// It has elected itself by then. One that is killed before may not start again.
			Ready: respondsWith(http.StatusOK, overSocket(socket), "http://etcd/health"),
		}, nil
	})
}

// overSocket is a transport to a Unix socket.
func overSocket(path string) *http.Transport {
	dial := func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", path)
	}
	return &http.Transport{DisableKeepAlives: true, DialContext: dial}
}
