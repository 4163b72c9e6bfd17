package lab

import "path/filepath"

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
			Ready: Accepts("unix", socket), // the first request then waits for the leader
		}, nil
	})
}
