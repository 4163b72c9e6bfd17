package soak

import (
	"strings"
	"testing"

	"example.com/flashsale/internal/check"
	"example.com/flashsale/internal/lab"
	"example.com/flashsale/internal/lab/labtest"
	"example.com/flashsale/loadtest/rig"
	"example.com/flashsale/loadtest/trial"
)

func TestMain(m *testing.M) { labtest.Main(m, lab.MySQLServer, lab.RedisServer) }

// Each state breaks one promise of what happens to an order after its claim.
func TestLifeOfOrdersIsAudited(t *testing.T) {
	t.Parallel()
	s, err := rig.StartIn(labtest.Lab(t))
	check.NoError(t, err)
	const (
		order = `INSERT INTO coupon_orders (id, coupon_id, user_id, number, created_at, used_at, used_ref) VALUES `
		ended = `INSERT INTO coupon_orders_ended (id, coupon_id, user_id, number, created_at, ended_at, how) VALUES `
		one   = order + `(7, 1, 1, 1, NOW(3), NULL, NULL)`
		used  = order + `(7, 1, 1, 1, NOW(3), NOW(3), 'x')`
		gone  = ended + `(7, 1, 1, 1, NOW(3), NOW(3), 'returned')`
	)
	claimed, returned, useOf7 := event("claimed", "7"), event("returned", "7"), event("used", "7")
	return7 := []trial.Operation{{Kind: trial.Return, Claim: rig.Claim{Order: "7"}}}
	use := func(reference string) trial.Operation {
		return trial.Operation{Kind: trial.Use, Claim: rig.Claim{Order: "7"}, Reference: reference}
	}
	sale, err := s.NewSale(t.Context())
	check.NoError(t, err)
	for name, test := range map[string]struct {
		state  []string
		made   []trial.Operation
		events []string
		want   string // begins the violation; empty if there is none
	}{
		"claimed":                      {[]string{one}, nil, []string{claimed}, ""},
		"returned":                     {[]string{gone}, return7, []string{claimed, returned}, ""},
		"a return that is not there":   {[]string{one}, return7, []string{claimed}, "I4"},
		"a use that is not there":      {[]string{one}, []trial.Operation{use("x")}, []string{claimed}, "I4"},
		"used otherwise":               {[]string{used}, []trial.Operation{use("y")}, []string{claimed, useOf7}, "I4"},
		"counts and has ended":         {[]string{one, gone}, nil, []string{claimed, returned}, "I4"},
		"an event is missing":          {[]string{gone}, nil, []string{claimed}, "I5"},
		"an event of nothing":          {[]string{one}, nil, []string{claimed, returned}, "I5"},
		"an event that was told twice": {[]string{one}, nil, []string{claimed, claimed}, ""},
	} {
		m := &market{Pair: &trial.Pair{Fleet: &rig.Fleet{}}, log: func(string, ...any) {}}
		m.Sale = sale
		m.events, err = startEvents(s.Lab)
		check.NoError(t, err)
		m.DB.MustExec("DELETE FROM coupon_orders")
		m.DB.MustExec("DELETE FROM coupon_orders_ended")
		for _, q := range test.state {
			m.DB.MustExec(q)
		}
		for _, body := range test.events {
			add := m.events.redis.Do(t.Context(), "XADD", "flashsale:events", "*", "body", body)
			check.NoError(t, add.Err())
		}
		check.NoError(t, auditLife(t.Context(), m, test.made))
		check.NoError(t, m.events.audit(t.Context(), m))
		found := m.All()
		if (len(found) > 0) != (test.want != "") || len(found) > 0 && !strings.HasPrefix(found[0], test.want) {
			t.Errorf("%s: %q, want %q", name, found, test.want)
		}
		m.events.server.Kill()
	}
}

// event returns the body of an event of orders, of which only the ids matter.
func event(kind string, orders ...string) string {
	return `{"v":1,"kind":"` + kind + `","orders":[["` + strings.Join(orders, `","1","1",1],["`) + `","1","1",1]]}`
}
