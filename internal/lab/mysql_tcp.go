package lab

import "fmt"

// StartMySQLTCP is StartMySQL on a free loopback port as well, for clients that cannot use
// a Unix socket.
func StartMySQLTCP(l *Lab, args ...string) (*MySQL, error) {
	return WithFreePort(func(port int) (*MySQL, error) {
		m, err := StartMySQL(l,
			append([]string{"--skip-networking=0", "--bind-address=127.0.0.1", fmt.Sprintf("--port=%d", port)},
				args...)...)
		if err != nil {
			return nil, err
		}
		m.Address = fmt.Sprintf("127.0.0.1:%d", port)
		return m, nil
	})
}
