package lab

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
)

// HAProxy is a running HAProxy, whose address forwards to a database server.
type HAProxy struct {
	*Server
	Host *Host // nil: in the namespace of this process
}

// Routing says which of the servers that accept writes get connections.
type Routing string

// OneWriter forwards to the first server alone, in the order of the list, and
// closes the connections to the others when it returns. AllWriters forwards each
// connection to the server with the fewest.
const (
	OneWriter  Routing = "one writer"
	AllWriters Routing = "all writers"
)

// haproxyConfig forwards to servers that accept writes (see startWriteCheck). Their
// connections are closed when they no longer are: the clients would wait for a
// silent server.
const haproxyConfig = `global
	maxconn 4000
defaults
	mode tcp
	timeout connect 1s
	timeout client 1h
	timeout server 1h
	timeout check 1s
listen mysql
	bind %s
	balance leastconn
	option httpchk
	default-server check inter 200ms fall 2 rise 2 on-marked-down shutdown-sessions %s
%s`

// StartHAProxy starts HAProxy on a host, or on a free loopback port if that is nil, in front of
// servers, which need an Address. A server is checked five times a second: it must accept writes
// and, in a Galera cluster, be synced.
func StartHAProxy(l *Lab, h *Host, routing Routing, servers ...*MySQL) (*HAProxy, error) {
	here := "127.0.0.1"
	if h != nil {
		here = h.network.Address()
	}
	lines, err := checkServers(l, here, routing, servers)
	if err != nil {
		return nil, err
	}
	server, err := WithFreePort(func(port int) (*Server, error) {
		address := fmt.Sprintf("%s:%d", here, port)
		if h != nil {
			address = h.Address + ":3306"
		}
		p, err := l.program(HAProxyServer, "haproxy", func(dir string) (Program, error) {
			return haproxyProgram(dir, address, routing, lines)
		})
		if err != nil {
			return nil, err
		}
		return l.Start(h.On(p))
	})
	return &HAProxy{server, h}, err
}

// checkServers starts the check of each server at the address here, which
// HAProxy can reach, and returns the servers' lines of the configuration.
func checkServers(l *Lab, here string, routing Routing, servers []*MySQL) (lines string, err error) {
	for i, m := range servers {
		port, err := startWriteCheck(l, here, m)
		if err != nil {
			return "", err
		}
		backup := ""
		if routing == OneWriter && i > 0 {
			backup = " backup"
		}
		lines += fmt.Sprintf("\tserver n%d %s addr %s port %s%s\n", i+1, m.Address, here, port, backup)
	}
	return lines, nil
}

func haproxyProgram(dir, address string, routing Routing, servers string) (Program, error) {
	returned := ""
	if routing == OneWriter {
		returned = "on-marked-up shutdown-backup-sessions"
	}
	conf := filepath.Join(dir, "haproxy.cfg")
	return Program{
		Args: []string{"-db", "-f", conf}, Address: address,
		Ready: func(ctx context.Context) error { return ping(ctx, "root@tcp("+address+")/") },
	}, os.WriteFile(conf, fmt.Appendf(nil, haproxyConfig, address, returned, servers), 0o644)
}

// DSN returns the value of MYSQL_DSN for the named database.
func (h *HAProxy) DSN(database string) string { return "root@tcp(" + h.Address + ")/" + database }
