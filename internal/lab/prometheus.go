package lab

import "net/http"

// StartPrometheus starts a Prometheus on a free loopback port with the configuration at the
// absolute path config. Its address is the base URL of its HTTP API.
func StartPrometheus(l *Lab, config string) (*Server, error) {
	return l.serveTCP(PrometheusServer, "prometheus", func(_, address string) (Program, error) {
		url := "http://" + address
		return Program{
			Args: []string{
				"--config.file=" + config, "--storage.tsdb.path=data", "--web.listen-address=" + address,
			},
			Address: url, Ready: respondsWith(http.StatusOK, http.DefaultTransport, url+"/-/ready"),
		}, nil
	})
}
