package lab

import (
	"fmt"
	"net/http"
)

// Prometheus is a running Prometheus.
type Prometheus struct {
	*Server
	// URL is the base URL of its HTTP API.
	URL string
}

// StartPrometheus starts a server on a free loopback port with the configuration at
// the absolute path config.
func StartPrometheus(l *Lab, config string) (*Prometheus, error) {
	path, err := l.path(PrometheusServer)
	if err != nil {
		return nil, err
	}
	return WithFreePort(func(port int) (*Prometheus, error) { return startPrometheusOnPort(l, path, config, port) })
}

func startPrometheusOnPort(l *Lab, path, config string, port int) (*Prometheus, error) {
	dir, err := l.Dir("prometheus")
	if err != nil {
		return nil, err
	}
	listen := fmt.Sprintf("127.0.0.1:%d", port)
	s, err := l.Start(Program{
		Name: "prometheus", Path: path, Dir: dir,
		Args:  []string{"--config.file=" + config, "--storage.tsdb.path=data", "--web.listen-address=" + listen},
		Ready: respondsWith(http.StatusOK, http.DefaultTransport, "http://"+listen+"/-/ready"),
	})
	return &Prometheus{Server: s, URL: "http://" + listen}, err
}
