package flashsale_test

import (
	"strings"
	"testing"
)

// mutants are the program with one defect each, and the tests of a package of which one
// must fail.
var mutants = []struct{ defect, file, text, wrong, tests, pkg string }{
	{"the unique key is none", "migrations/000009_order_number.up.sql",
		"ADD UNIQUE KEY one_each", "ADD KEY one_each",
		"TestClaimOncePerUser", "./internal/order"},
	{"a unit is taken from an empty stock", "internal/order/commit/stock.go",
		"`stock >= ?`, n)", "`? > 0`, n)",
		"TestClaimNeverOversells", "./internal/order"},
	{"a batch does not look whether the stock sufficed", "internal/order/commit/place_all.go",
		"if err == nil && changed == 1 {", "if err == nil && changed >= 0 {", "TestClaimNeverOversells|TestBatchLarger", "./internal/order/..."},
	{"an unknown commit is acknowledged", "internal/order/commit/read_back.go",
		"found, err := isCommitted(ctx, db, o)\n", "found, err := true, error(nil)\n", "LostReply|ReadBack", "./internal/order/commit"},
	{"a sold-out mark is kept for too long", "internal/coupon/cache.go", "e.coupon.Stock = 0\n",
		"e.coupon.Stock, e.expiresAt = 0, e.expiresAt.Add(time.Hour)\n", "TestMark|SoldOut|TestCache", "./internal/coupon"},
	{"an older read replaces a change", "internal/coupon/cache.go",
		"return a.Revision > b.Revision", "return false",
		"Test", "./internal/coupon"},
	{"the window has no end", "internal/coupon/coupon.go",
		"case now.After(c.EndTime):", "case false:", "Test", "./internal/coupon"},
	{"the window has no begin", "internal/coupon/coupon.go",
		"case now.Before(c.BeginTime):", "case false:", "Test", "./internal/coupon"},
	{"a release does not look for its owner", "internal/lock/redislock/batch.lua",
		"if holder == token then", "if true then", "Test", "./internal/lock/redislock"},
	{"a lease is taken for held until its very end", "internal/lock/watchdog.go",
		"return ttl - ttl/100 - min(2*time.Millisecond, ttl/10)", "return ttl + time.Hour", "Test", "./internal/lock"},
	{"no lease is watched", "internal/lock/watchdog.go",
		"	g.timer.Reset(time.Until(t))\n", "", "Test", "./internal/lock"},
	{"the audit is blind to duplicates", "internal/order/audit.go",
		"return a.Excess", "return 0",
		"Promises|Broken|Guard", "./internal/order/..."},
	{"the audit is blind to overselling", "internal/order/audit.go",
		"return max(0, a.Orders-a.InitialStock)", "return 0",
		"Promises|Broken|Guard", "./internal/order/..."},
	{"the audit is blind to lost units", "internal/order/audit.go",
		"return max(0, a.InitialStock-max(0, a.Stock)-a.Orders)",
		"return 0", "PromisesHold", "./internal/observe"},
	{"the audit is blind to the window", "internal/order/audit.go",
		"SUM(NOT (created_at", "SUM(0 AND NOT (created_at",
		"TestAudit", "./internal/order"},
	{"the instance's clock decides", "internal/connect/clock.go",
		"if m == nil {", "if true {", "TestDatabasesClock", "./cmd/api"},
	{"tokens do not expire", "internal/auth/verifier.go",
		"jwt.WithExpirationRequired(), jwt.WithLeeway(leeway)",
		"jwt.WithLeeway(1<<62)", "Test", "./internal/auth"},
	{"every user is an administrator", "internal/httpapi/identity.go",
		"case id.Role < role:", "case false:", "Test", "./internal/httpapi"},
	{"a verdict that must break passes without", "loadtest/verdict/verdict.go",
		"case control:\n		return Lucky", "case control:\n		return Broke", "Test", "./loadtest/verdict"},
	{"a history may have two orders of one number", "loadtest/experiments/linearizable/model.go",
		"m.held[one.owner] != one.from", "m.held[one.owner] != m.held[one.owner]",
		"TestHistoriesAreJudged", "./loadtest/experiments/linearizable"},
	{"an acknowledged return is not looked up", "loadtest/experiments/soak/life.go",
		`return o.How == "returned"`, "return true", "TestLifeOfOrders", "./loadtest/experiments/soak"},
	{"an event that is missing is none", "loadtest/experiments/soak/events.go",
		"if !e.seen[t] {", "if false {", "TestLifeOfOrders", "./loadtest/experiments/soak"},
	{"a check always passes", "loadtest/verdict/verdict.go",
		"return v == Held || v == Broke", "return true",
		"Test", "./loadtest/verdict"},
	{"a rate limit never refuses", "internal/admission/ratelimit/ratelimit.go",
		"if next-now > l.ahead {", "if false {",
		"Test", "./internal/admission/ratelimit"},
	{"slots never refuse", "internal/admission/slots/slots.go",
		"if c.stuck {", "if false {", "Test",
		"./internal/admission/slots"},
	{"a coupon takes all slots", "internal/admission/slots/slots.go",
		"c.waiters.Len() == 0 && c.held < s.free",
		"c.waiters.Len() == 0 && s.free > 0", "TestCouponsShare", "./internal/admission/slots"},
	{"quotes are a part of a secret", "internal/settings/environment.go",
		`return "is in quotes"`, `return ""`, "Pasted", "./internal/settings"},
	{"a filter is kept by the initial stock", "internal/order/winners/filter.go",
		"return f.version < c.Version && (l == nil", "return false && (l == nil",
		"TestSoldOutCouponIsReadOncePerRestock", "./internal/order/winners"},
	{"a filter is loaded from before a return", "internal/order/winners/filter.go",
		"WHERE u.version >= ?", "WHERE ? >= 0", "TestReplicaFromBeforeAnOrder", "./internal/order/winners"},
	{"a recent order is not compared", "internal/order/winners/recent.go",
		"found && o.version >= c.Version", "found", "TestReturnedUnitIsSoldAgain", "./internal/order/life"},
	{"an order that is used is returned", "internal/order/life/end.go",
		"order.Returned: `used_at IS NULL AND", "order.Returned: `TRUE AND",
		"TestOneTransitionOfAnOrderWins", "./internal/order/life"},
	{"a transfer arrives as often as it is completed", "internal/order/commit/transfer.go",
		"due := sent + arrived", "due := sent + 0*arrived", "TestTransfer", "./internal/order"},
	{"a transfer takes units that are gone", "internal/order/commit/transfer.go",
		"`stock >= ?`, n)", "`TRUE`)", "TestTransferThatComesTooLate", "./internal/order"},
	{"what is under way between segments is forgotten", "internal/order/commit/transfer.go",
		"HAVING SUM(units) > 0", "HAVING SUM(units) > 1000000", "TestTransfer", "./internal/order"},
	{"an order that did not end gives its unit back", "internal/order/life/end.go",
		"if deleted != len(all) && s.lab == nil {", "if deleted < 0 {",
		"TestOneTransitionOfAnOrderWins", "./internal/order/life"},
}

// A mutant whose line was rewritten is none, and would be noticed by make mutants alone.
func TestEachMutantChangesOneLineOfToday(t *testing.T) {
	t.Parallel()
	for _, m := range mutants {
		if n := strings.Count(read(t, m.file), m.text); n != 1 {
			t.Errorf("%s: %s has %q %d times, want once", m.defect, m.file, m.text, n)
		}
	}
}
