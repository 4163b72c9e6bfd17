package lab

import (
	"fmt"
	"net/http"
	"slices"
)

// RuntimeEnv sets the Go runtime of an instance as docker-compose.yml does.
var RuntimeEnv = []string{"GOGC=400", "GOMEMLIMIT=170MiB"}

// API is a running instance of the service.
type API struct {
	*Server
	// Address is the host:port that serves HTTP.
	Address string
}

// StartAPI starts the service's executable as the instance name, with the settings
// env (KEY=value), and returns when the instance is ready. It listens on TCP, as
// in docker-compose.yml: a Unix socket has no accept queue that overflows.
func StartAPI(l *Lab, executable, name string, env ...string) (*API, error) {
	return WithFreePort(func(port int) (*API, error) {
		return startAPIOn(l, fmt.Sprintf("127.0.0.1:%d", port), executable, name, env)
	})
}

func startAPIOn(l *Lab, address, executable, name string, env []string) (*API, error) {
	dir, err := l.Dir("api")
	if err != nil {
		return nil, err
	}
	s, err := l.Start(Program{
		Name: "api-" + name, Path: executable, Args: []string{"serve"}, Dir: dir,
		Env:   slices.Concat(RuntimeEnv, []string{"HTTP_ADDR=" + address, "INSTANCE=" + name}, env),
		Ready: respondsWith(http.StatusOK, http.DefaultTransport, "http://"+address+"/readyz"),
	})
	return &API{Server: s, Address: address}, err
}

// URL returns the instance's base URL, without a trailing slash.
func (a *API) URL() string { return "http://" + a.Address }
