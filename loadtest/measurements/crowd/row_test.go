package crowd

import (
	"testing"

	"example.com/flashsale/loadtest/clients"
	"example.com/flashsale/loadtest/rig"
	"example.com/flashsale/loadtest/verdict"
)

// Clients that came one after the other were no crowd, whatever became of them.
func TestRowIsJudgedByWhoWasInFlight(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		inFlight int
		verdicts map[string]int
		want     verdict.Verdict
	}{
		"all at once":     {10, map[string]int{rig.Accepted: 8, clients.Service503: 2}, verdict.Held},
		"a few at a time": {4, map[string]int{rig.Accepted: 10}, verdict.Void},
		"without a reply": {10, map[string]int{rig.Accepted: 9, clients.NoReply: 1}, verdict.Wrong},
	} {
		r := Row{Clients: 10, Bursts: []Burst{{InFlight: c.inFlight, Verdicts: c.verdicts}}}
		if got := r.verdict(); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}

func TestNginxMayOnlyRefuseALargerCrowd(t *testing.T) {
	t.Parallel()
	for n, want := range map[int]verdict.Verdict{boundedClients: verdict.Wrong, boundedClients + 1: verdict.Held} {
		verdicts := map[string]int{rig.Accepted: n - 1, clients.NginxOverloaded: 1}
		if got := (Row{Clients: n, Bursts: []Burst{{InFlight: n, Verdicts: verdicts}}}).verdict(); got != want {
			t.Errorf("%d clients: %s, want %s", n, got, want)
		}
	}
}
