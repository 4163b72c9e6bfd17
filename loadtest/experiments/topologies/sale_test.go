package topologies

import (
	"testing"
	"time"

	"example.com/flashsale/loadtest/rig"
)

func TestOutageLastsUntilTheFirstClaimAcceptedAfterTheLastFailure(t *testing.T) {
	t.Parallel()
	at := func(s int, verdict string) rig.Claim {
		return rig.Claim{Received: time.Unix(int64(s), 0), Verdict: verdict}
	}
	sale := Sale{Failover: true}
	sale.count([]rig.Claim{
		at(1, rig.Accepted), at(3, rig.Unexpected), at(4, rig.Accepted), at(5, rig.Unexpected),
		at(6, "already_claimed"), at(8, rig.Accepted), at(7, rig.Accepted),
	}, time.Unix(2, 0))
	if sale.Unavailable != 5 || sale.Failed != 2 || sale.Accepted != 4 {
		t.Errorf("outage %v s, %d failed, %d accepted; want 5, 2, 4", sale.Unavailable, sale.Failed, sale.Accepted)
	}
}
