package lab

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
)

// Nginx is a running nginx.
type Nginx struct {
	*Server
	// URL is where clients reach it, without a path.
	URL string
}

// Nginx starts nginx on a free loopback port with the nginx.conf of conf, in
// front of upstreams: host:port or unix:/path, as nginx writes them.
func (l *Lab) Nginx(conf string, upstreams ...string) (*Nginx, error) {
	path, err := LookPath("nginx")
	if err != nil {
		return nil, err
	}
	for range 5 { // another process may take the port first
		var n *Nginx
		if n, err = l.nginx(path, conf, upstreams); err == nil {
			return n, nil
		}
	}
	return nil, err
}

func (l *Lab) nginx(path, conf string, upstreams []string) (*Nginx, error) {
	dir, err := l.Dir("nginx")
	if err != nil {
		return nil, err
	}
	port, err := FreePort()
	if err != nil {
		return nil, err
	}
	listen := fmt.Sprintf("127.0.0.1:%d", port)
	mark := "/" + rand.Text() // so that whoever took the port before us is not mistaken for ours
	if err := site(dir, conf, listen, mark, upstreams); err != nil {
		return nil, err
	}
	s, err := l.Start(Program{
		Name: "nginx", Path: path, Dir: dir,
		Args:  []string{"-p", dir + "/", "-c", filepath.Join(dir, "nginx.conf"), "-e", "stderr", "-g", nginxMain()},
		Ready: answers(http.DefaultTransport, "http://"+listen+mark, http.StatusNoContent),
	})
	return &Nginx{Server: s, URL: "http://" + listen}, err
}

// nginxMain is what the command line adds to nginx.conf: stay a child, and as
// root keep workers that may open the instances' sockets.
func nginxMain() string {
	if Root() {
		return "daemon off; user root;"
	}
	return "daemon off;"
}

// site puts conf's nginx.conf into dir, with the two files that it includes.
func site(dir, conf, listen, mark string, upstreams []string) error {
	main, err := os.ReadFile(filepath.Join(conf, "nginx.conf"))
	if err != nil {
		return err
	}
	server := fmt.Sprintf("listen %s backlog=4096;\nlocation = %s { return 204; }\n", listen, mark)
	var servers strings.Builder
	for _, u := range upstreams {
		fmt.Fprintf(&servers, "server %s max_fails=3 fail_timeout=2s;\n", u)
	}
	return errors.Join(
		os.WriteFile(filepath.Join(dir, "nginx.conf"), main, 0o644),
		os.Mkdir(filepath.Join(dir, "site"), 0o755),
		os.WriteFile(filepath.Join(dir, "site", "listen.conf"), []byte(server), 0o644),
		os.WriteFile(filepath.Join(dir, "site", "upstream.conf"), []byte(servers.String()), 0o644))
}

// answers is a readiness check: a GET of url has this status.
func answers(via http.RoundTripper, url string, status int) func(context.Context) error {
	return func(ctx context.Context) error {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
		if err != nil {
			return err
		}
		resp, err := via.RoundTrip(req)
		if err != nil {
			return err
		}
		defer resp.Body.Close()
		body, err := io.ReadAll(io.LimitReader(resp.Body, 1000))
		if resp.StatusCode != status {
			return fmt.Errorf("%s answers %s: %s", url, resp.Status, body)
		}
		return err
	}
}
