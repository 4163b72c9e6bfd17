package cluster

import (
	"testing"
	"time"

	"example.com/flashsale/loadtest/rig"
	"example.com/flashsale/loadtest/trial"
	"example.com/flashsale/loadtest/verdict"
)

// replies returns claims that were sent 50 ms before they were received.
func replies(received map[float64]string) []rig.Claim {
	var h trial.History
	for s, verdict := range received {
		h.Add(rig.Claim{Sent: at(s).Add(-50 * time.Millisecond), Received: at(s), Verdict: verdict})
	}
	return h.Claims()
}

func at(s float64) time.Time { return time.Unix(1000, int64(s*1e9)) }

func TestOutageTellsTheFaultFromItsHealing(t *testing.T) {
	t.Parallel()
	o := outageOf(replies(map[float64]string{
		-1: rig.Accepted, 0.5: rig.Unavailable, 2.5: rig.Lost, 3: rig.Accepted, 4: rig.Accepted,
		10.25: rig.Overloaded, 11: rig.Accepted, 11.5: rig.Accepted, 12: "already_claimed",
	}), trial.Span{Begin: at(0), End: at(10)}, at(13))
	for _, c := range []struct {
		what      string
		got, want float64
	}{
		{"accepted", float64(o.Accepted), 5}, {"503s", float64(o.Unavailable), 2}, {"lost", float64(o.Lost), 1},
		{"lasted", o.Lasted, 10}, {"gap", o.Gap, 7}, {"resumed", o.Resumed, 3}, {"normal", o.Normal, 1},
		{"before", o.Before, 0.5}, {"time of failures", o.FailedTime, 0.3},
	} {
		if d := c.got - c.want; d > 1e-6 || d < -1e-6 {
			t.Errorf("%s: %v, want %v", c.what, c.got, c.want)
		}
	}
}

func TestWhatFailedBeforeIsNoOutage(t *testing.T) {
	t.Parallel()
	o := outageOf(replies(map[float64]string{-1.5: rig.Lost, 1: rig.Accepted, 2: rig.Accepted}),
		trial.Span{Begin: at(0), End: at(1.5)}, at(3))
	if o.Resumed != 0 || o.Normal != 0 || o.FailedTime != 0.1 {
		t.Errorf("%+v, want no outage", o)
	}
}

func TestPromotionsAreJudgedByWhatTheyMayLose(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		loss    loss
		missing int
		pass    bool
	}{{never, 0, true}, {certain, 0, false}, {certain, 1, true}, {possible, 0, true}, {possible, 1, true}} {
		d := Disruption{loss: c.loss, Outage: Outage{Accepted: 1}, Audits: []Audit{{Missing: c.missing}}}
		if d.judge(nil); d.Verdict.Pass() != c.pass {
			t.Errorf("loss %d, %d missing: %s", c.loss, c.missing, d.Verdict)
		}
		if d.judge([]string{"stock and orders do not add up"}); d.Verdict != verdict.Wrong {
			t.Errorf("loss %d: %s although something else is wrong", c.loss, d.Verdict)
		}
	}
}

// sold is the audit of a server with so many orders.
func sold(n int) Audit {
	return Audit{Account: rig.Account{InitialStock: 3, Stock: 3 - n, Orders: n, Users: n}}
}

func TestNodesMustHaveTheSameOrders(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		audits []Audit
		want   int
	}{{[]Audit{sold(3), sold(3)}, 0}, {[]Audit{sold(3), sold(2)}, 1}, {[]Audit{{Missing: 1}}, 1},
		{[]Audit{{Untold: 1}}, 1}} {
		broken := 0
		for _, a := range c.audits {
			if !a.keptWith(c.audits[0], false) {
				broken++
			}
		}
		if broken != c.want {
			t.Errorf("%+v: %d broken, want %d", c.audits, broken, c.want)
		}
	}
}
