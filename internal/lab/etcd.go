package lab

import "path/filepath"

// Etcd is a running etcd of one member.
type Etcd struct {
	*Server
	// Endpoint is the endpoint for an etcd client.
	Endpoint string
}

// StartEtcd starts a server on a Unix socket. A short election timeout makes it
// ready at once, and makes it grant leases as short as one second, etcd's
// minimum.
func StartEtcd(l *Lab) (*Etcd, error) {
	path, err := l.path(EtcdServer)
	if err != nil {
		return nil, err
	}
	dir, err := l.Dir("etcd")
	if err != nil {
		return nil, err
	}
	// etcd requires host:port for a socket too, and creates a file of that name.
	socket := filepath.Join(dir, "s:1")
	s, err := l.Start(Program{
		Name: "etcd", Path: "/bin/sh", Dir: dir,
		Args: []string{
			"-c", `rm -f s:1 p:1; exec "$0" "$@"`, path, // etcd does not start on the sockets that a killed etcd left
			"--data-dir=data", "--log-level=error", "--heartbeat-interval=20", "--election-timeout=200",
			"--listen-client-urls=unix://s:1", "--advertise-client-urls=unix://s:1",
			"--listen-peer-urls=unix://p:1", "--initial-advertise-peer-urls=unix://p:1",
			"--initial-cluster=default=unix://p:1",
		},
		Ready: accepts("unix", socket), // the first request then waits for the leader
	})
	return &Etcd{Server: s, Endpoint: "unix://" + socket}, err
}
