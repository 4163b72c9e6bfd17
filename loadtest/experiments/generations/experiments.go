package generations

import (
	"context"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"example.com/flashsale/internal/lab"
	"example.com/flashsale/loadtest/report"
	"example.com/flashsale/loadtest/verdict"
)

// An experiment is one defect, the fault that triggers it, and the generations
// expected to break and to hold under that fault.
type experiment struct {
	Defect string
	Fault  string
	inject func(*scenario) outcome
	breaks []generation
	holds  []generation
}

var experiments = []experiment{
	{"the lock never expires", "the process crashes between two commands of TryLock", crashWhileLocking,
		[]generation{gSetnxExpire}, []generation{gSetDel, gScript, gRedis, gRedisson}},
	{"unlock deletes another holder's lock", "the holder pauses past its lease, then unlocks", unlockAfterExpiry,
		[]generation{gSetDel}, []generation{gSetGetDel, gRedis, gRedisson}},
	{"the same, between two commands", "the holder pauses between two commands of Unlock", pauseWhileUnlocking,
		[]generation{gSetGetDel}, []generation{gLua, gRedis, gRedisson}},
	{"two processes have the same owner id", "as above; both holders are thread 1 of their process",
		pauseWhileUnlocking,
		[]generation{gThreadID}, []generation{gLua, gRedis}},
	{"unlock without a lock deletes the holder's", "a process is refused, and its finally unlocks", unlockRefused,
		[]generation{gSetDel, gThreadID}, []generation{gSetGetDel, gLua, gRedis, gRedisson}},
	{"the lease is shorter than the work", "the work takes three leases", workBeyondLease,
		[]generation{gLua}, []generation{gThread, gPrinted, gAcquire}},
	{"one lost renewal ends the lease", "the next renewal is lost; the work takes three leases", loseRenewal,
		[]generation{gThread, gPrinted}, []generation{gAcquire}},
	{"the holder is not told that renewals fail", "the holder is cut off from the server", loseRenewals,
		[]generation{gThread, gPrinted}, []generation{gAcquire}},
	{"a renewal prolongs another holder's lock", "the lease ends, the next holder locks and crashes", renewAfterExpiry,
		[]generation{gThread}, []generation{gPrinted, gAcquire}},
	{"the inner unlock releases the outer lock", "locked twice, unlocked once", lockTwice,
		[]generation{gThreadLocal}, []generation{gCounting, gReenter, gRedissonReenter}},
	{"stock and sales disagree", "a second order comes while the first locks twice", orderUnderLock,
		[]generation{gLua, gThreadLocal}, []generation{gCounting, gReenter, gRedissonReenter}},
	{"the second attempt succeeds without a lock", "tries twice while another process holds the lock",
		retryAfterRefusal,
		[]generation{gThreadLocal}, []generation{gCounting, gReenter}},
	{"re-entry after the lease has expired", "the lease expires, another process locks, the first re-enters",
		reenterAfterExpiry,
		[]generation{gCounting}, []generation{gReenter}},
	{"unlock leaves its queue entry behind", "one process locks and unlocks, the next waits", lockInTurn,
		[]generation{gFair}, []generation{gQueue, gRedissonFair}},
	{"a crashed waiter blocks the queue", "a waiter crashes, then the holder unlocks", crashWhileWaiting,
		[]generation{gFair}, []generation{gQueue, gRedissonFair}},
	{"each release wakes every waiter", "sixteen wait in ZooKeeper", handOver,
		[]generation{gOneZnode}, []generation{gZKQueue}},
	{"a failover loses the lock", "the master crashes before its replica has the lock", failOver(1),
		[]generation{gLua, gRedis, gRedisson}, []generation{gReplicated, gRedlock, gFenced}},
	{"two failovers make three holders", "the master crashes, and then the replica in its place", failOver(2),
		[]generation{gLua, gRedisson}, []generation{gReplicated, gRedlock, gFenced}},
	{"the lease ends when the server's clock says so", "the clock of a server steps past the lease", stepClock,
		[]generation{gLua, gRedis, gRedisson}, []generation{gRedlock, gFenced}},
	{"one hung node prevents locking", "one of five nodes hangs", hangNode,
		[]generation{gSequence}, []generation{gRedlock}},
	{"the holder counts its lease too long", "one of five nodes replies late", delayNode,
		[]generation{gSequence}, []generation{gRedlock}},
	{"a paused holder writes after its lease", "the holder pauses past its lease, then writes", pauseBeforeWriting,
		[]generation{gLua, gRedis, gRedisson, gRedlock}, []generation{gFenced}},
}

// A Trial is the outcome of one generation under one fault.
type Trial struct {
	Generation string `json:"generation"`
	Expect     string `json:"expect"` // break or hold
	outcome
	Verdict verdict.Verdict `json:"verdict"`
	Lanes   []report.Lane   `json:"lanes"` // what each process did, in milliseconds
}

// A Result is the outcome of an experiment.
type Result struct {
	Defect string  `json:"defect"`
	Fault  string  `json:"provocation"`
	Breaks []Trial `json:"breaks"`
	Holds  []Trial `json:"holds"`
}

// run injects the fault into each of e's generations, all at the same time. It
// returns an error if a trial could not be completed.
func (e experiment) run(ctx context.Context, l *lab.Lab) (Result, error) {
	result := Result{Defect: e.Defect, Fault: e.Fault,
		Breaks: make([]Trial, len(e.breaks)), Holds: make([]Trial, len(e.holds))}
	var trials errgroup.Group
	start := func(all []generation, expect string, into []Trial) {
		for i, g := range all {
			trials.Go(func() (err error) {
				into[i], err = e.try(ctx, l, g, expect)
				return err
			})
		}
	}
	start(e.breaks, "break", result.Breaks)
	start(e.holds, "hold", result.Holds)
	return result, trials.Wait()
}

// try injects the fault into g.
func (e experiment) try(ctx context.Context, l *lab.Lab, g generation, expect string) (Trial, error) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	s := &scenario{ctx: ctx, lab: l, generation: g}
	defer s.close()
	if err := s.startServers(); err != nil {
		return Trial{}, err
	}
	s.nextKey()
	o := e.inject(s)
	return Trial{g.Name, expect, o, verdict.Of(expect == "break", o.Broke, true), s.lanes()}, s.err
}

// trials returns those that break and then those that hold.
func (r Result) trials() []Trial { return slices.Concat(r.Breaks, r.Holds) }
