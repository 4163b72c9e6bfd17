package lab

import "path/filepath"

// Memcached is a running memcached.
type Memcached struct {
	*Server
	// Address is the path of its Unix socket.
	Address string
}

// StartMemcached starts a server with 64 MB of memory on a Unix socket.
func StartMemcached(l *Lab) (*Memcached, error) {
	path, err := l.path(MemcachedServer)
	if err != nil {
		return nil, err
	}
	dir, err := l.Dir("memcached")
	if err != nil {
		return nil, err
	}
	socket := filepath.Join(dir, "s")
	s, err := l.Start(Program{
		Name: "memcached", Path: path, Dir: dir,
		Args:  []string{"-s", socket, "-u", osUser(), "-m", "64", "-t", "2"},
		Ready: accepts("unix", socket),
	})
	return &Memcached{Server: s, Address: socket}, err
}
