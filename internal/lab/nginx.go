package lab

import (
	"bytes"
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
	"runtime"
	"syscall"
)

// Nginx is a running nginx.
type Nginx struct {
	*Server
	// URL is the base URL for clients, without a path.
	URL string
}

// StartNginx starts nginx on a free loopback port with a copy of the directory conf,
// in front of upstreams: host:port or unix:/path, as in nginx's server directive.
// It has no limits for each client, because all clients in the lab have the same
// address. StartLimitedNginx is StartNginx with the limits of conf.
var (
	StartNginx        = StartEditedNginx(NoLimits)
	StartLimitedNginx = StartEditedNginx()
)

// An Edit replaces a text of a file in nginx's configuration, which must be there once, or all
// of the file if Before is empty.
type Edit struct{ File, Before, After string }

// NoLimits removes what one client may ask for.
var NoLimits = Edit{File: "site/limits.conf"}

// StartEditedNginx returns StartLimitedNginx with edits.
func StartEditedNginx(edits ...Edit) func(l *Lab, conf string, upstreams ...string) (*Nginx, error) {
	return func(l *Lab, conf string, upstreams ...string) (n *Nginx, err error) {
		n = &Nginx{}
		n.Server, err = l.serveTCP(NginxServer, "nginx", func(dir, address string) (Program, error) {
			readyPath := "/" + rand.Text() // only this nginx knows it, not another server that took the port
			scheme, err := writeConfig(dir, conf, address, readyPath, upstreams)
			n.URL = scheme + "://" + address
			for _, e := range edits {
				err = errors.Join(err, e.apply(dir))
			}
			return Program{
				Args: []string{"-p", dir + "/", "-c", filepath.Join(dir, "nginx.conf"), "-e", "stderr", "-g",
					globalDirectives()},
				Ready: respondsWith(http.StatusNoContent, anyCertificate, n.URL+readyPath),
			}, err
		})
		return n, err
	}
}

// StartCrowdNginx is StartNginx for 20,000 clients that connect before they claim at
// one moment: with enough workers, if a process here may open fewer files than
// nginx.conf asks for, and with the time that a busy machine needs until that moment.
func StartCrowdNginx(l *Lab, conf string, upstreams ...string) (*Nginx, error) {
	const files = 50_000 // that 20,000 proxied clients need, with some to spare
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		return nil, err
	}
	workers := max(runtime.NumCPU(), int(files/limit.Max)+1)
	return StartEditedNginx(NoLimits,
		Edit{"nginx.conf", "worker_processes auto", fmt.Sprintf("worker_processes %d", workers)},
		Edit{"nginx.conf", "client_header_timeout 10s", "client_header_timeout 60s"},
	)(l, conf, upstreams...)
}

// anyCertificate is a transport that accepts every certificate. It asks only for
// the readiness, by a path that nobody else knows.
var anyCertificate = &http.Transport{
	TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, //nolint:gosec // see above
}

func (e Edit) apply(dir string) error {
	path := filepath.Join(dir, e.File)
	conf, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if e.Before == "" {
		e.Before = string(conf)
	}
	if n := bytes.Count(conf, []byte(e.Before)); n != 1 {
		return fmt.Errorf("lab: %s has %q %d times", e.File, e.Before, n)
	}
	return os.WriteFile(path, bytes.Replace(conf, []byte(e.Before), []byte(e.After), 1), 0o644)
}

// globalDirectives returns what -g adds to nginx.conf: nginx stays a child of
// this process, and under root its workers may open files in the lab.
func globalDirectives() string {
	global := "daemon off; pid nginx.pid;"
	if isRoot() {
		global += " user root;"
	}
	return global
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
	servers, err := os.ReadFile(filepath.Join(conf, "site", "upstream.conf"))
	if err != nil {
		return "", err
	}
	return scheme, errors.Join(
		os.WriteFile(filepath.Join(dir, "site", "listen.conf"), listen, 0o644),
		os.WriteFile(filepath.Join(dir, "site", "upstream.conf"), withServers(servers, upstreams), 0o644))
}

// withServers returns the server directives for upstreams, with the parameters
// that the first server has in conf. Addresses need not be looked up again.
func withServers(conf []byte, upstreams []string) []byte {
	lines := serverLine.FindAllSubmatch(conf, -1)
	var servers []byte
	for _, line := range lines {
		if string(line[1]) != string(lines[0][1]) {
			continue
		}
		for _, u := range upstreams {
			servers = fmt.Appendf(servers, "server %s%s;\n", u, line[2])
		}
	}
	return servers
}

var (
	listenPort = regexp.MustCompile(`(?m)^listen \d+`)
	listenTLS  = regexp.MustCompile(`(?m)^listen \d+ ssl`)
	serverLine = regexp.MustCompile(`(?m)^server (\S+)(.*?)(?: resolve)?;`)
)

// respondsWith returns a readiness check that sends a GET of url by transport
// and expects status.
func respondsWith(status int, transport http.RoundTripper, url string) func(context.Context) error {
	return func(ctx context.Context) error {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
		if err != nil {
			return err
		}
		req.Close = true // a server that is stopped waits for its clients
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
