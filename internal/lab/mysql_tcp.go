package lab

import "fmt"

// MySQLTCP is MySQL on a free loopback port as well, for clients that cannot use
// a Unix socket.
func (l *Lab) MySQLTCP(args ...string) (*MySQL, error) {
	return WithFreePort(func(port int) (*MySQL, error) {
		m, err := l.MySQL(append([]string{"--skip-networking=0", "--bind-address=127.0.0.1", fmt.Sprintf("--port=%d", port)}, args...)...)
		if err != nil {
			return nil, err
		}
		m.Address = fmt.Sprintf("127.0.0.1:%d", port)
		return m, nil
	})
}
