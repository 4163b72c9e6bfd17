package lab

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// Nginx is a running nginx.
type Nginx struct {
	*Server
	// URL is the base URL for clients, without a path.
	URL string
}

// Nginx starts nginx on a free loopback port with a copy of the directory conf,
// in front of upstreams: host:port or unix:/path, as in nginx's server directive.
// It has no limits for each client, because all clients in the lab have the same
// address.
func (l *Lab) Nginx(conf string, upstreams ...string) (*Nginx, error) {
	return l.startNginx(conf, upstreams, false)
}

// LimitedNginx is Nginx with the limits of conf.
func (l *Lab) LimitedNginx(conf string, upstreams ...string) (*Nginx, error) {
	return l.startNginx(conf, upstreams, true)
}

func (l *Lab) startNginx(conf string, upstreams []string, limited bool) (*Nginx, error) {
	path, err := LookPath("nginx")
	if err != nil {
		return nil, err
	}
	return WithFreePort(func(port int) (*Nginx, error) { return l.nginx(path, port, conf, upstreams, limited) })
}

func (l *Lab) nginx(path string, port int, conf string, upstreams []string, limited bool) (*Nginx, error) {
	dir, err := l.Dir("nginx")
	if err != nil {
		return nil, err
	}
	address := fmt.Sprintf("127.0.0.1:%d", port)
	readyPath := "/" + rand.Text() // only this nginx knows it, not another server that took the port
	scheme, err := writeConfig(dir, conf, address, readyPath, upstreams)
	if err != nil {
		return nil, err
	}
	if !limited {
		if err := os.Truncate(filepath.Join(dir, "site", "limits.conf"), 0); err != nil {
			return nil, err
		}
	}
	url := scheme + "://" + address
	s, err := l.Start(Program{
		Name: "nginx", Path: path, Dir: dir,
		Args:  []string{"-p", dir + "/", "-c", filepath.Join(dir, "nginx.conf"), "-e", "stderr", "-g", globalDirectives()},
		Ready: respondsWith(http.StatusNoContent, anyCertificate, url+readyPath),
	})
	return &Nginx{Server: s, URL: url}, err
}

// anyCertificate is a transport that accepts every certificate. It asks only for
// the readiness, by a path that nobody else knows.
var anyCertificate = &http.Transport{
	TLSClientConfig:   &tls.Config{InsecureSkipVerify: true}, //nolint:gosec // see above
	DisableKeepAlives: true,
}

// globalDirectives returns what -g adds to nginx.conf: nginx stays a child of
// this process, and under root its workers may open the instances' sockets.
func globalDirectives() string {
	if isRoot() {
		return "daemon off; user root;"
	}
	return "daemon off;"
}

// writeConfig copies the directory conf to dir. In the copy nginx listens on
// address only and forwards to upstreams, and readyPath gets the status 204. It
// returns the scheme of nginx's URL.
func writeConfig(dir, conf, address, readyPath string, upstreams []string) (scheme string, err error) {
	if err := os.CopyFS(dir, os.DirFS(conf)); err != nil {
		return "", err
	}
	listen, err := os.ReadFile(filepath.Join(conf, "site", "listen.conf"))
	if err != nil {
		return "", err
	}
	scheme = "http"
	if listenTLS.Match(listen) {
		scheme = "https"
	}
	listen = listenPort.ReplaceAll(listen, []byte("listen "+address))
	listen = fmt.Appendf(listen, "location = %s { return 204; }\n", readyPath)
	var servers strings.Builder
	for _, u := range upstreams {
		fmt.Fprintf(&servers, "server %s max_fails=3 fail_timeout=2s;\n", u)
	}
	return scheme, errors.Join(
		os.WriteFile(filepath.Join(dir, "site", "listen.conf"), listen, 0o644),
		os.WriteFile(filepath.Join(dir, "site", "upstream.conf"), []byte(servers.String()), 0o644))
}

var (
	listenPort = regexp.MustCompile(`(?m)^listen \d+`)
	listenTLS  = regexp.MustCompile(`(?m)^listen \d+ ssl`)
)

// respondsWith returns a readiness check that sends a GET of url by transport
// and expects status.
func respondsWith(status int, transport http.RoundTripper, url string) func(context.Context) error {
	return func(ctx context.Context) error {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
		if err != nil {
			return err
		}
		resp, err := transport.RoundTrip(req)
		if err != nil {
			return err
		}
		defer resp.Body.Close()
		body, err := io.ReadAll(io.LimitReader(resp.Body, 1000))
		if resp.StatusCode != status {
			return fmt.Errorf("%s responds with %s: %s", url, resp.Status, body)
		}
		return err
	}
}
