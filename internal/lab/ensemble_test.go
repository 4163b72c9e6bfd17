package lab_test

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"example.com/flashsale/internal/check"
	"example.com/flashsale/internal/lab/labtest"
)

// Clients that reach a separated member are on its side of the partition.
func TestSeparatedMemberLosesItsLeaderButNotItsClients(t *testing.T) {
	t.Parallel()
	e := labtest.EtcdEnsemble(t)
	alone := e.Members[0]
	for _, other := range e.Members[1:] {
		check.NoError(t, alone.Host.Separate(other.Host))
	}
	check.Eventually(t, "the member has no leader", func() bool { return !hasLeader(t, alone.Address) })
	check.Eventually(t, "the others have one", func() bool {
		return hasLeader(t, e.Members[1].Address) && hasLeader(t, e.Members[2].Address)
	})
	for _, other := range e.Members[1:] {
		check.NoError(t, alone.Host.Reunite(other.Host))
	}
	check.Eventually(t, "the member has a leader again", func() bool { return hasLeader(t, alone.Address) })
}

// hasLeader fails the test if the member of etcd does not reply: it has to be within
// reach.
func hasLeader(t *testing.T, address string) bool {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+address+"/metrics", nil)
	check.NoError(t, err)
	resp, err := http.DefaultClient.Do(req)
	check.NoError(t, err)
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	check.NoError(t, err)
	return strings.Contains(string(text), "etcd_server_has_leader 1")
}
