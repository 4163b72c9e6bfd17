package lab

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
)

// StartEtcdEnsemble starts etcd on three hosts of a new network, with its own
// election timeout of a second.
func StartEtcdEnsemble(l *Lab) (*Ensemble, error) {
	return startEnsemble(l, EtcdServer, "etcd", 2379, func(m *Member, _ string, id int) (Program, error) {
		m.leads = func(ctx context.Context) (bool, error) {
			return etcdLeads(ctx, "http://"+m.Address+"/metrics")
		}
		var cluster []string
		for i, h := range m.peers {
			cluster = append(cluster, fmt.Sprintf("%d=http://%s:2380", i+1, h.Address))
		}
		client, peer := "http://"+m.Address, "http://"+m.Host.Address+":2380"
		return Program{
			Args: []string{
				"--data-dir=data", "--log-level=error", fmt.Sprintf("--name=%d", id),
				"--listen-client-urls=" + client, "--advertise-client-urls=" + client,
				"--listen-peer-urls=" + peer, "--initial-advertise-peer-urls=" + peer,
				"--initial-cluster=" + strings.Join(cluster, ","),
			},
			Ready: respondsWith(http.StatusOK, http.DefaultTransport, client+"/health"),
		}, nil
	})
}

func etcdLeads(ctx context.Context, metrics string) (bool, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, metrics, nil)
	if err != nil {
		return false, err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return false, err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	return strings.Contains(string(text), "etcd_server_is_leader 1"), err
}
