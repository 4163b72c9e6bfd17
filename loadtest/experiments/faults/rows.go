package faults

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"example.com/flashsale/internal/faultproxy"
)

// A row is a fault at a moment of a trial.
type row struct {
	name   string
	moment moment
	lasts  time.Duration // between strike and heal
	strike func(context.Context, *trial) error
	heal   func(context.Context, *trial) error
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
	trials int // at most; 0: as many as the run has
	// absent returns why the row does not apply to c, or nothing.
	absent func(c column) string
}

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
		strike: delayReplies(leaseTime + briefly/2), heal: healNet, loses: expires, breaks: true},
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
	{name: "minority cut off", moment: holding, lasts: long, strike: cutOffMinority, heal: healCut, elects: true,
		absent: unlessMajority},
	{name: "majority cut off", moment: holding, lasts: long, strike: cutOffMajority, heal: healCut, loses: expires,
		absent: unlessMajority},
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
		breaks: true, absent: exceptDurable},
	{name: "server killed, empty", moment: holding, strike: killServers, heal: restartServers, loses: forgotten,
		absent: durable},
	{name: "failover without the lock", moment: holding, strike: failOver, loses: forgotten, absent: exceptRedis},
	{name: "keys deleted", moment: holding, strike: forgetKeys, loses: forgotten, absent: unlessForgets},
	{name: "keys evicted", moment: holding, strike: evictKeys, loses: forgotten, absent: unlessEvicts},
	{name: "server's clock forward", moment: holding, lasts: briefly, strike: stepClock(time.Hour), heal: stepClock(0),
		loses: forgotten, absent: unlessSteps},
	{name: "server's clock back", moment: holding, lasts: briefly, strike: stepClock(-time.Hour), heal: stepClock(0),
		loses: forgotten, absent: unlessSteps},

	{name: "holder stopped, brief", moment: holding, lasts: briefly, strike: stopHolder, heal: resumeHolder},
	{name: "holder stopped, long", moment: holding, lasts: 2 * leaseTime, strike: stopHolder, heal: resumeHolder,
		loses: blind},
	{name: "holder killed", moment: holding, strike: killHolder, loses: blind},
	{name: "holder killed, 1,000 waiters", moment: waiting, strike: killHolder, loses: blind, waiters: 1000,
		wait: 2 * time.Minute, trials: 1, absent: exceptOurs},
	{name: "holder stopped, lease of 30 s", moment: holding, lasts: usualLease + leaseTime, strike: stopHolder,
		heal: resumeHolder, loses: blind, lease: usualLease, trials: 1},
	{name: "holder killed, lease of 30 s", moment: holding, strike: killHolder, loses: blind, lease: usualLease,
		trials: 1},

	{name: "everything at random", lasts: 10 * leaseTime, turns: true, loses: blind, breaks: true, trials: 1},
}

// onReplies strikes the next requests of the holder to each server.
func onReplies(f faultproxy.Fault, times int) func(context.Context, *trial) error {
	return onHolder(func(p *faultproxy.Proxy) { p.Inject(f, "", times) })
}

func onHolder(do func(*faultproxy.Proxy)) func(context.Context, *trial) error {
	return func(_ context.Context, t *trial) error { t.a().each(do); return nil }
}

func onWaiter(do func(*faultproxy.Proxy)) func(context.Context, *trial) error {
	return func(_ context.Context, t *trial) error { t.b().each(do); return nil }
}

func delayReplies(d time.Duration) func(context.Context, *trial) error {
	return onHolder(func(p *faultproxy.Proxy) { p.DelayReplies(d) })
}

var (
	loseReply    = onReplies(faultproxy.LoseReply, 1)
	loseRequest  = onReplies(faultproxy.LoseRequest, 1)
	dropReplies  = onReplies(faultproxy.HangReply, faultproxy.Always)
	dropRequests = onReplies(faultproxy.HangRequest, faultproxy.Always)

	resetHolder     = onHolder((*faultproxy.Proxy).Disconnect)
	resetWaiter     = onWaiter((*faultproxy.Proxy).Disconnect)
	partitionHolder = onHolder((*faultproxy.Proxy).Partition)
	partitionWaiter = onWaiter((*faultproxy.Proxy).Partition)
)

// slowNetwork makes each request of both holders take 50 ms longer.
func slowNetwork(_ context.Context, t *trial) error {
	for _, s := range t.holders {
		s.each(func(p *faultproxy.Proxy) { p.Delay(50 * time.Millisecond) })
	}
	return nil
}

func healNet(_ context.Context, t *trial) error {
	for _, s := range t.holders {
		s.each((*faultproxy.Proxy).Heal)
	}
	return nil
}

func stopServers(_ context.Context, t *trial) error {
	for _, n := range t.nodes {
		n.Pause()
	}
	return nil
}

func resumeServers(_ context.Context, t *trial) error {
	for _, n := range t.nodes {
		n.Resume()
	}
	return nil
}

// killServers kills the server, or a minority of them.
func killServers(_ context.Context, t *trial) error {
	for _, n := range t.struckNodes() {
		n.Kill()
	}
	return nil
}

func restartServers(_ context.Context, t *trial) error {
	var errs []error
	for _, n := range t.struckNodes() {
		errs = append(errs, n.Restart())
	}
	return errors.Join(errs...)
}

// failOver replaces a server by one that has no keys, as the promotion of a replica
// does that had not received them.
func failOver(ctx context.Context, t *trial) error {
	n, err := t.backend.start(ctx, t.lab)
	if err != nil {
		return err
	}
	for _, s := range t.holders {
		s.proxies[0].Retarget(n.network, n.address)
		s.proxies[0].Disconnect()
	}
	t.nodes[0].Kill()
	t.nodes[0] = n
	return nil
}

func forgetKeys(ctx context.Context, t *trial) error {
	for _, n := range t.struckNodes() {
		if err := n.forget(ctx); err != nil {
			return err
		}
	}
	return nil
}

func evictKeys(ctx context.Context, t *trial) error {
	for _, n := range t.struckNodes() {
		if err := n.evict(ctx); err != nil {
			return err
		}
	}
	return nil
}

func stepClock(d time.Duration) func(context.Context, *trial) error {
	return func(_ context.Context, t *trial) error {
		for _, n := range t.struckNodes() {
			if err := n.step(d); err != nil {
				return err
			}
		}
		return nil
	}
}

func stopHolder(_ context.Context, t *trial) error   { t.a().suspend(); return nil }
func resumeHolder(_ context.Context, t *trial) error { t.a().resume(); return nil }
func killHolder(_ context.Context, t *trial) error   { t.a().kill(); return nil }

func unlessMajority(c column) string {
	if !c.backend.majority {
		return "needs all of its servers"
	}
	return ""
}

func exceptDurable(c column) string {
	if !c.backend.durable {
		return "keeps no data"
	}
	return ""
}

func durable(c column) string {
	if c.backend.durable {
		return "keeps its data"
	}
	return ""
}

func exceptRedis(c column) string {
	if !slices.Contains([]*backend{oneRedis, threeRedis, fiveRedis}, c.backend) {
		return "no failover of this kind"
	}
	return ""
}

func unlessForgets(c column) string {
	if !c.backend.forgets {
		return "no command deletes its locks"
	}
	return ""
}

func unlessEvicts(c column) string {
	if !c.backend.evicts {
		return fmt.Sprintf("%s evicts no lock here", c.backend.name)
	}
	return ""
}

func exceptOurs(c column) string {
	if c.kind != ours {
		return "the protocol has one waiter for each holder"
	}
	return ""
}

func unlessSteps(c column) string {
	if !c.backend.steps {
		return fmt.Sprintf("the clock of %s cannot be stepped here", c.backend.name)
	}
	return ""
}
