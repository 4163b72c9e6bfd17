package lab_test

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"example.com/flashsale/internal/lab/labtest"
)

// Clients that reach a separated member are on its side of the partition.
func TestSeparatedMemberLosesItsLeaderButNotItsClients(t *testing.T) {
	t.Parallel()
	e := labtest.EtcdEnsemble(t)
	alone := e.Members[0]
	for _, other := range e.Members[1:] {
		if err := alone.Host.Separate(other.Host); err != nil {
			t.Fatal(err)
		}
	}
	labtest.Eventually(t, "the member has no leader", func() bool { return !hasLeader(t, alone.Address) })
	labtest.Eventually(t, "the others have one", func() bool {
		return hasLeader(t, e.Members[1].Address) && hasLeader(t, e.Members[2].Address)
	})
	for _, other := range e.Members[1:] {
		if err := alone.Host.Reunite(other.Host); err != nil {
			t.Fatal(err)
		}
	}
	labtest.Eventually(t, "the member has a leader again", func() bool { return hasLeader(t, alone.Address) })
}

// hasLeader fails the test if the member of etcd does not reply: it has to be within
// reach.
func hasLeader(t *testing.T, address string) bool {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+address+"/metrics", nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return strings.Contains(string(text), "etcd_server_has_leader 1")
}
