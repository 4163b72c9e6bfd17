package lab

import (
	"net/http"
	"slices"
)

// RuntimeEnv sets the Go runtime of an instance as docker-compose.yml does.
var RuntimeEnv = []string{"GOGC=400", "GOMEMLIMIT=170MiB"}

// API is a running instance of the service. Its address serves HTTP.
type API struct{ *Server }

// StartAPI starts the service's executable as the instance name, with the settings
// env (KEY=value), and returns when the instance is ready. It listens on TCP, as
// in docker-compose.yml: a Unix socket has no accept queue that overflows.
func StartAPI(l *Lab, executable, name string, env ...string) (*API, error) {
	s, err := l.serveTCP(nil, "api-"+name, func(_, address string) (Program, error) {
		return Program{
			Path: executable, Args: []string{"serve"},
			Env:   slices.Concat(RuntimeEnv, []string{"HTTP_ADDR=" + address, "INSTANCE=" + name}, env),
			Ready: respondsWith(http.StatusOK, http.DefaultTransport, "http://"+address+"/readyz"),
		}, nil
	})
	return &API{s}, err
}

// URL returns the instance's base URL, without a trailing slash.
func (a *API) URL() string { return "http://" + a.Address }
