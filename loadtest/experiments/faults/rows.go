package faults

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"example.com/flashsale/internal/faultproxy"
)

// A row is a fault at a moment of a trial.
type row struct {
	name   string
	moment moment
	lasts  time.Duration // between strike and heal
	strike deed
	heal   deed
	// loses says that the holder may lose its lock: the fault outlasts the lease, or
	// the server forgets it.
	loses loss
	// breaks says that connections break, and what is bound to them.
	breaks bool
	// elects says that an ensemble may have to elect a leader, which takes long enough
	// for a lease to end.
	elects bool
	lease  time.Duration // that the holders ask for; 0: leaseTime
	wait   time.Duration // of the second holder; 0: longer than any fault
	// waiters is how many wait in the second holder, instead of one.
	waiters int
	// turns says that both holders take turns while faults strike at random for as long
	// as the row lasts.
	turns  bool
	trials int      // at most; 0: as many as the run has
	needs  property // of the backend
}

// A deed strikes or heals.
type deed func(context.Context, *trial) error

// A moment is when a fault strikes.
type moment string

const (
	never      moment = ""
	acquiring  moment = "acquire" // just before the holder acquires
	holding    moment = "hold"
	waiting    moment = "wait" // while the other holder waits
	releasing  moment = "release"
	throughout moment = "always"
)

// A loss says why a holder may lose its lock.
type loss int

const (
	keepsLock loss = iota
	expires        // the server lets the lease end
	forgotten      // the server no longer knows of the lease; nothing could tell the holder at once
	blind          // the holder does not run, and cannot know
)

const (
	briefly = leaseTime / 3
	long    = 5 * leaseTime / 2
	// usualLease is what many libraries take by default.
	usualLease = 30 * time.Second
)

var rows = []row{
	{name: "no fault"},

	{name: "reply of acquire lost", moment: acquiring, lasts: briefly, strike: loseReply, heal: healNet, breaks: true},
	{name: "reply of extend lost", moment: holding, lasts: briefly, strike: loseReply, heal: healNet, breaks: true},
	{name: "reply of release lost", moment: releasing, lasts: briefly, strike: loseReply, heal: healNet, breaks: true},
	{name: "request of release lost", moment: releasing, lasts: briefly, strike: loseRequest, heal: healNet,
		breaks: true},
	{name: "reply of acquire later than the lease", moment: acquiring, lasts: leaseTime + briefly,
		strike: delayReplies, heal: healNet, loses: expires, breaks: true},
	{name: "requests of acquire abandoned", moment: acquiring, lasts: long, strike: dropRequests, heal: healNet,
		loses: expires, breaks: true},

	{name: "connections reset", moment: holding, strike: resetHolder, heal: healNet, breaks: true},
	{name: "connections of the waiter reset", moment: waiting, strike: resetWaiter, heal: healNet},
	// The proxy repeats no packet: connections that lost some end with the partition.
	{name: "partition, brief", moment: holding, lasts: briefly / 2, strike: partitionHolder, heal: healNet,
		breaks: true},
	{name: "partition, long", moment: holding, lasts: long, strike: partitionHolder, heal: healNet, loses: expires,
		breaks: true},
	{name: "replies dropped, long", moment: holding, lasts: long, strike: dropReplies, heal: healNet, loses: expires,
		breaks: true},
	{name: "waiter partitioned", moment: waiting, lasts: leaseTime, strike: partitionWaiter, heal: healNet},
	{name: "minority cut off", moment: holding, lasts: long, strike: cutOff(true), heal: healCut, elects: true,
		needs: majority},
	{name: "majority cut off", moment: holding, lasts: long, strike: cutOff(false), heal: healCut, loses: expires,
		needs: majority},
	{name: "slow network", moment: throughout, lasts: leaseTime, strike: slowNetwork, heal: healNet},
	{name: "wait given up", wait: leaseTime / 3},

	// A connection that is silent for so long may be given up.
	{name: "server stopped, brief", moment: holding, lasts: briefly, strike: stopServers, heal: resumeServers,
		breaks: true, elects: true},
	{name: "server stopped, long", moment: holding, lasts: 2 * leaseTime, strike: stopServers, heal: resumeServers,
		loses: expires},
	{name: "server stopped while waiting", moment: waiting, lasts: briefly, strike: stopServers, heal: resumeServers,
		breaks: true, elects: true},
	{name: "wait given up, server stopped", moment: waiting, lasts: briefly, strike: stopServers, heal: resumeServers,
		wait: leaseTime / 4, breaks: true, elects: true},
	{name: "server killed, has its data", moment: holding, strike: killServers, heal: restartServers, loses: expires,
		breaks: true, needs: durable},
	{name: "server killed, empty", moment: holding, strike: killServers, heal: restartServers, loses: forgotten,
		needs: empty},
	{name: "failover without the lock", moment: holding, strike: failOver, loses: forgotten, needs: failsOver},
	{name: "keys deleted", moment: holding, strike: forgetKeys, loses: forgotten, needs: forgets},
	{name: "keys evicted", moment: holding, strike: evictKeys, loses: forgotten, needs: evicts},
	{name: "server's clock forward", moment: holding, lasts: briefly, strike: stepClock(time.Hour), heal: stepClock(0),
		loses: forgotten, needs: steps},
	{name: "server's clock back", moment: holding, lasts: briefly, strike: stepClock(-time.Hour), heal: stepClock(0),
		loses: forgotten, needs: steps},

	{name: "holder stopped, brief", moment: holding, lasts: briefly, strike: stopHolder, heal: resumeHolder},
	{name: "holder stopped, long", moment: holding, lasts: 2 * leaseTime, strike: stopHolder, heal: resumeHolder,
		loses: blind},
	{name: "holder killed", moment: holding, strike: killHolder, loses: blind},
	{name: "holder killed, 1,000 waiters", moment: waiting, strike: killHolder, loses: blind, waiters: 1000,
		wait: 2 * time.Minute, trials: 1, needs: manyWaiters},
	{name: "holder stopped, lease of 30 s", moment: holding, lasts: usualLease + leaseTime, strike: stopHolder,
		heal: resumeHolder, loses: blind, lease: usualLease, trials: 1},
	{name: "holder killed, lease of 30 s", moment: holding, strike: killHolder, loses: blind, lease: usualLease,
		trials: 1},

	{name: "everything at random", lasts: 10 * leaseTime, turns: true, loses: blind, breaks: true, trials: 1},
}

// atProxies does it at the proxies of those holders: 0 is the first.
func atProxies(do func(*faultproxy.Proxy), holders ...int) deed {
	return func(_ context.Context, t *trial) error {
		for _, i := range holders {
			t.holders[i].each(do)
		}
		return nil
	}
}

func atHolder(do func(*faultproxy.Proxy)) deed { return atProxies(do, 0) }

// onRequests strikes the next requests of the holder to each server.
func onRequests(f faultproxy.Fault, times int) deed {
	return atHolder(func(p *faultproxy.Proxy) { p.Inject(f, "", times) })
}

var (
	loseReply    = onRequests(faultproxy.LoseReply, 1)
	loseRequest  = onRequests(faultproxy.LoseRequest, 1)
	dropReplies  = onRequests(faultproxy.HangReply, faultproxy.Always)
	dropRequests = onRequests(faultproxy.HangRequest, faultproxy.Always)

	delayReplies    = atHolder(func(p *faultproxy.Proxy) { p.DelayReplies(leaseTime + briefly/2) })
	resetHolder     = atHolder((*faultproxy.Proxy).Disconnect)
	resetWaiter     = atProxies((*faultproxy.Proxy).Disconnect, 1)
	partitionHolder = atHolder((*faultproxy.Proxy).Partition)
	partitionWaiter = atProxies((*faultproxy.Proxy).Partition, 1)

	// slowNetwork makes each request of both holders take 50 ms longer.
	slowNetwork = atProxies(func(p *faultproxy.Proxy) { p.Delay(50 * time.Millisecond) }, 0, 1)
	healNet     = atProxies((*faultproxy.Proxy).Heal, 0, 1)
)

// onNodes does it to the servers that of returns.
func onNodes(of func(*trial) []node, do func(context.Context, node) error) deed {
	return func(ctx context.Context, t *trial) error {
		var errs []error
		for _, n := range of(t) {
			errs = append(errs, do(ctx, n))
		}
		return errors.Join(errs...)
	}
}

// does is for what cannot fail.
func does(do func(node)) func(context.Context, node) error {
	return func(_ context.Context, n node) error { do(n); return nil }
}

var (
	stopServers   = onNodes((*trial).allNodes, does(func(n node) { n.Pause() }))
	resumeServers = onNodes((*trial).allNodes, does(func(n node) { n.Resume() }))
	killServers   = onNodes((*trial).struckNodes, does(func(n node) { n.Kill() }))

	restartServers = onNodes((*trial).struckNodes, func(_ context.Context, n node) error { return n.Restart() })
	forgetKeys     = onNodes((*trial).struckNodes, func(ctx context.Context, n node) error { return n.forget(ctx) })
	evictKeys      = onNodes((*trial).struckNodes, func(ctx context.Context, n node) error { return n.evict(ctx) })
)

func stepClock(d time.Duration) deed {
	return onNodes((*trial).struckNodes, func(_ context.Context, n node) error { return n.step(d) })
}

// failOver replaces a server by one that has no keys, as the promotion of a replica
// does that had not received them.
func failOver(ctx context.Context, t *trial) error {
	next, err := startRedis(1)(ctx, t.lab)
	if err != nil {
		return err
	}
	for _, s := range t.holders {
		s.proxies[0].Retarget(next[0].Address)
		s.proxies[0].Disconnect()
	}
	t.nodes[0].Kill()
	t.nodes[0] = next[0]
	return nil
}

func stopHolder(_ context.Context, t *trial) error   { t.a().suspend(); return nil }
func resumeHolder(_ context.Context, t *trial) error { t.a().resume(); return nil }
func killHolder(_ context.Context, t *trial) error   { t.a().kill(); return nil }

// absent returns why r does not apply to c, or nothing.
func (r row) absent(c column) string {
	if r.needs == "" || slices.Contains(c.backend.has, r.needs) || r.needs == manyWaiters && c.kind == ours {
		return ""
	}
	return strings.ReplaceAll(string(r.needs), "BACKEND", c.backend.name)
}
