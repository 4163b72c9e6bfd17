package lab

import (
	"context"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
)

// RuntimeEnv is what a deployed instance tells Go's runtime; see
// docker-compose.yml.
var RuntimeEnv = []string{"GOGC=400", "GOMEMLIMIT=170MiB"}

// API is one running instance of the service.
type API struct {
	*Server
	// Socket is the Unix socket on which it speaks HTTP.
	Socket string
}

// API starts the service's binary as the instance called name, with the
// settings env (KEY=value), and returns when it says that it is ready.
func (l *Lab) API(binary, name string, env ...string) (*API, error) {
	dir, err := l.Dir("api")
	if err != nil {
		return nil, err
	}
	socket := filepath.Join(dir, "s")
	s, err := l.Start(Program{
		Name: "api-" + name, Path: binary, Args: []string{"serve"}, Dir: dir,
		Env:   slices.Concat(RuntimeEnv, []string{"HTTP_ADDR=unix:" + socket, "INSTANCE=" + name}, env),
		Ready: answers(onSocket(socket), "http://api/readyz", http.StatusOK),
	})
	return &API{Server: s, Socket: socket}, err
}

// Restart starts an instance that has ended again.
func (a *API) Restart() error {
	if err := os.Remove(a.Socket); err != nil && !os.IsNotExist(err) {
		return err
	}
	return a.Server.Restart()
}

// Upstream is the instance's address as Lab.Nginx takes it.
func (a *API) Upstream() string { return "unix:" + a.Socket }

// Client returns an HTTP client that speaks to the instance, whatever host
// the URL names.
func (a *API) Client() *http.Client { return &http.Client{Transport: onSocket(a.Socket)} }

func onSocket(path string) http.RoundTripper {
	return &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", path)
	}}
}
