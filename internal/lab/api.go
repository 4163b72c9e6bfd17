package lab

import (
	"context"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
)

// RuntimeEnv sets the Go runtime of an instance as docker-compose.yml does.
var RuntimeEnv = []string{"GOGC=400", "GOMEMLIMIT=170MiB"}

// API is a running instance of the service.
type API struct {
	*Server
	// Socket is the path of the Unix socket that serves HTTP.
	Socket string
}

// API starts the service's executable as the instance name, with the settings
// env (KEY=value), and returns when the instance is ready.
func (l *Lab) API(executable, name string, env ...string) (*API, error) {
	dir, err := l.Dir("api")
	if err != nil {
		return nil, err
	}
	socket := filepath.Join(dir, "s")
	s, err := l.Start(Program{
		Name: "api-" + name, Path: executable, Args: []string{"serve"}, Dir: dir,
		Env:   slices.Concat(RuntimeEnv, []string{"HTTP_ADDR=unix:" + socket, "INSTANCE=" + name}, env),
		Ready: respondsWith(http.StatusOK, socketTransport(socket), "http://api/readyz"),
	})
	return &API{Server: s, Socket: socket}, err
}

// Restart starts an instance that has ended, and returns when it is ready.
func (a *API) Restart() error {
	if err := os.Remove(a.Socket); err != nil && !os.IsNotExist(err) {
		return err
	}
	return a.Server.Restart()
}

// Upstream returns the address of the instance as Lab.Nginx takes it.
func (a *API) Upstream() string { return "unix:" + a.Socket }

// Client returns an HTTP client that sends every request to the instance,
// whatever host its URL names.
func (a *API) Client() *http.Client { return &http.Client{Transport: socketTransport(a.Socket)} }

func socketTransport(path string) http.RoundTripper {
	return &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", path)
	}}
}
