package lab

import "path/filepath"

// Etcd is a running etcd of one member.
type Etcd struct {
	*Server
	// Endpoint is what an etcd client takes.
	Endpoint string
}

// Etcd starts a server on a Unix socket. Its election is so short that it is
// up at once and grants leases of one second, the shortest there are.
func (l *Lab) Etcd() (*Etcd, error) {
	path, err := LookPath("etcd")
	if err != nil {
		return nil, err
	}
	dir, err := l.Dir("etcd")
	if err != nil {
		return nil, err
	}
	// etcd takes a socket only as host:port, and makes a file of that name.
	socket := filepath.Join(dir, "s:1")
	s, err := l.Start(Program{
		Name: "etcd", Path: "/bin/sh", Dir: dir,
		Args: []string{
			"-c", `rm -f s:1 p:1; exec "$0" "$@"`, path, // a killed one leaves its sockets, and chokes on them
			"--data-dir=data", "--log-level=error", "--heartbeat-interval=20", "--election-timeout=200",
			"--listen-client-urls=unix://s:1", "--advertise-client-urls=unix://s:1",
			"--listen-peer-urls=unix://p:1", "--initial-advertise-peer-urls=unix://p:1",
			"--initial-cluster=default=unix://p:1",
		},
		Ready: dialable("unix", socket), // what a client asks then waits for the leader
	})
	return &Etcd{Server: s, Endpoint: "unix://" + socket}, err
}
