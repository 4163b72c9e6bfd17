package commit_test

import (
	"errors"
	"fmt"
	"sync/atomic"
	"testing"

	"example.com/flashsale/internal/check"
	"example.com/flashsale/internal/faultproxy"
	"example.com/flashsale/internal/lock"
	"example.com/flashsale/internal/order"
	"example.com/flashsale/internal/order/commit"
	"example.com/flashsale/internal/order/ordertest"
)

// The requests of a commit, with their command byte.
const (
	commitStatement = "\x03COMMIT"
	placeBatch      = "\x03START TRANSACTION; INSERT"
)

// stepByStep makes GroupCommit commit in several round trips.
func stepByStep(c *ordertest.Config) { c.Commit.BatchDB = c.Commit.DB }

// A commit that was executed is a success although its reply was lost, also on a
// server like TiDB, which refuses LOCK IN SHARE MODE.
func TestCommitWithLostReplyIsReadBack(t *testing.T) {
	ordertest.ForStrategies(t, commit.Strategies, func(t *testing.T, s *ordertest.Sale, strategy commit.Strategy) {
		id := s.Coupon(1, 5)
		proxy, through := s.Proxied()
		claims := s.Instance(ordertest.WithStrategy(strategy), through)
		proxy.Refuse("LOCK IN SHARE MODE", faultproxy.MySQLError(1235, "lost"))
		proxy.PartitionAfter(commitStatement)
		result := ordertest.Claim(t.Context(), claims, 42, id)
		check.Eventually(t, "the order is committed", func() bool { return s.Audit(id).Orders == 1 })
		proxy.Heal() // closes the connection on which the reply was lost
		ordertest.Expect(t, "claim", result, nil)
		s.WantSold(id, 1, 4)
		ordertest.WantClaim(t, claims, 42, id, order.ErrAlreadyClaimed)
	})
}

// The first claim of the batch has no order that could be read back.
func TestLostReplyOfABatchWithADuplicateIsReadBack(t *testing.T) {
	t.Parallel()
	s := ordertest.NewSale(t)
	id := s.Coupon(1, 5)
	proxy, through := s.Proxied()
	claims := s.Instance(through, ordertest.WithLocker(lock.None()))
	ordertest.WantClaim(t, s.Instance(), 7, id, nil)
	release := commit.OccupyWorkers(claims.Committer)
	duplicate, other := queued(t, t.Context(), claims, 7, id), queued(t, t.Context(), claims, 8, id)
	proxy.Inject(faultproxy.LoseReply, commitStatement, 1)
	release()
	ordertest.Expect(t, "the user with an order", duplicate, order.ErrAlreadyClaimed)
	ordertest.Expect(t, "the other user", other, nil)
	s.WantSold(id, 2, 3)
}

// A commit that did not reach the server is ErrUnavailable, and the user can
// claim again.
func TestLostCommitIsUnavailable(t *testing.T) {
	ordertest.ForStrategies(t, commit.Strategies, func(t *testing.T, s *ordertest.Sale, strategy commit.Strategy) {
		id := s.Coupon(1, 5)
		proxy, through := s.Proxied()
		var counted atomic.Int64
		claims := s.Instance(ordertest.WithStrategy(strategy), through, func(c *ordertest.Config) {
			c.Commit.Ended = func(t commit.Transaction) { counted.Add(int64(t.Orders)) }
		})
		proxy.Inject(faultproxy.LoseRequest, commitStatement, 1)
		if _, err := claims.Claim(t.Context(), 42, id); !errors.Is(err, order.ErrUnavailable) ||
			proxy.Hits() != 1 {
			t.Errorf("claim: %v, want ErrUnavailable; %d faults", err, proxy.Hits())
		}
		s.WantSold(id, 0, 5)
		ordertest.MustRecover(t, claims, id, order.Claimant{UserID: 42, Number: 1})
		check.NoError(t, claims.Close(t.Context()))
		if n := counted.Load(); n != 1 {
			t.Errorf("%d orders are counted, want that of the second claim", n)
		}
	})
}

// okReply is what MySQL replies to a command that it has executed.
func okReply() []byte { return []byte{7, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0} }

// connectionLosses are the numbers with which proxies report that they have lost
// the connection to the server: ProxySQL and MaxScale 2013, 2006 and 1927,
// vtgate 1105.
var connectionLosses = []uint16{2013, 2006, 1927, 1105}

// The server commits, and the proxy reports that it has lost the server.
func TestCommitThatAProxyLosesIsReadBack(t *testing.T) {
	strategies := []commit.Strategy{commit.PerClaim, commit.GroupCommit}
	ordertest.ForStrategies(t, strategies, func(t *testing.T, s *ordertest.Sale, strategy commit.Strategy) {
		for i, number := range connectionLosses {
			id := s.Coupon(int64(i)+1, 5)
			proxy, through := s.Proxied()
			claims := s.Instance(ordertest.WithStrategy(strategy), through)
			proxy.Reply(commitStatement, faultproxy.MySQLError(number, "lost"), okReply())
			check.Eventually(t, "the order is placed", func() bool {
				_, err := claims.Claim(t.Context(), 42, id)
				return err == nil || errors.Is(err, order.ErrAlreadyClaimed)
			})
			s.WantSold(id, 1, 4)
		}
	})
}

// A Galera node that is not ready (1047) has done nothing: the claim is tried
// again, on another connection if the node said so to COMMIT.
func TestClaimIsTriedAgainWhenTheNodeIsNotReady(t *testing.T) {
	ordertest.ForStrategies(t, commit.Strategies, func(t *testing.T, s *ordertest.Sale, strategy commit.Strategy) {
		id := s.Coupon(1, 5)
		proxy, through := s.Proxied()
		claims := s.Instance(ordertest.WithStrategy(strategy), through)
		proxy.Refuse(commitStatement, faultproxy.MySQLError(1047, "lost"))
		ordertest.WantClaim(t, claims, 42, id, nil)
		s.WantSold(id, 1, 4)
	})
}

// The server commits a batch, its reply is lost, and reading it back fails with
// an error after which a transaction may be tried again: the server has become
// read-only (1290, Aurora's 1836), or the row is locked (1205). The batch must
// not be tried again: the stock would be taken twice.
func TestBatchThatCannotBeReadBackTakesTheStockOnce(t *testing.T) {
	t.Parallel()
	for _, number := range []uint16{1290, 1836, 1205} {
		t.Run(fmt.Sprint(number), func(t *testing.T) {
			t.Parallel()
			s := ordertest.NewSale(t)
			id := s.Coupon(1, 5)
			proxy, through := s.Proxied()
			claims := s.Instance(through)
			for range 3 { // database/sql makes three attempts on a read-only server
				proxy.Refuse("SELECT user_id FROM coupon_orders", faultproxy.MySQLError(number, "lost"))
			}
			proxy.Inject(faultproxy.HangReply, commitStatement, 1)
			result := ordertest.Claim(t.Context(), claims, 42, id)
			check.Eventually(t, "the order is committed", func() bool { return s.Audit(id).Orders == 1 })
			proxy.Heal() // closes the connection on which the reply was lost
			ordertest.Expect(t, "claim", result, order.ErrUnavailable)
			s.WantSold(id, 1, 4)
		})
	}
}
