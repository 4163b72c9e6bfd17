package topologies

import (
	"testing"
	"time"

	"example.com/flashsale/loadtest/rig"
)

func TestOutageLastsUntilTheFirstClaimAcceptedAfterTheLastFailure(t *testing.T) {
	t.Parallel()
	at := func(s int, verdict string) rig.Claim {
		moment := time.Unix(int64(s), 0)
		return rig.Claim{Sent: moment, Received: moment, Verdict: verdict}
	}
	sale := Sale{Failover: true}
	sale.count(rig.Burst{Claims: []rig.Claim{
		at(1, rig.Accepted), at(3, rig.Unexpected), at(4, rig.Accepted), at(5, rig.Unexpected),
		at(6, "already_claimed"), at(8, rig.Accepted), at(7, rig.Accepted),
	}}, time.Unix(2, 0))
	if sale.Unavailable != 5 || sale.Failed != 2 || sale.Accepted != 4 {
		t.Errorf("outage %v s, %d failed, %d accepted; want 5, 2, 4", sale.Unavailable, sale.Failed, sale.Accepted)
	}
}

// Claims that wait for the new master meet the outage as well as those that fail.
func TestOutageIsMetByClaimsThatWaitForItsEnd(t *testing.T) {
	t.Parallel()
	begin := time.Unix(100, 0)
	claim := func(sent, received time.Duration) rig.Claim {
		return rig.Claim{Sent: begin.Add(sent), Received: begin.Add(received), Verdict: rig.Accepted}
	}
	sale := Sale{Failover: true}
	sale.count(rig.Burst{Claims: []rig.Claim{
		claim(-time.Second, noMaster/2), claim(noMaster/2, 3*time.Second), claim(0, 2*time.Second),
		claim(noMaster, 4*time.Second),
	}}, begin)
	if sale.Met != 2 || sale.Unavailable != 3 || sale.Failed != 0 {
		t.Errorf("%d met, outage %v s, %d failed; want 2, 3, 0", sale.Met, sale.Unavailable, sale.Failed)
	}
}
