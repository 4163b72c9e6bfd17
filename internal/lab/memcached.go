package lab

import "path/filepath"

// StartMemcached starts a memcached with 64 MB of memory on a Unix socket.
func StartMemcached(l *Lab) (*Server, error) {
	return l.serve(MemcachedServer, "memcached", func(dir string) (Program, error) {
		socket := filepath.Join(dir, "s")
		return Program{
			Args:    []string{"-s", socket, "-u", osUser(), "-m", "64", "-t", "2"},
			Address: socket, Ready: Accepts("unix", socket),
		}, nil
	})
}
