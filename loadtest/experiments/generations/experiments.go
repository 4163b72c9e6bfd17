package generations

import (
	"context"

	"golang.org/x/sync/errgroup"

	"example.com/flashsale/internal/lab"
	"example.com/flashsale/loadtest/report"
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
		[]generation{gSetnxExpire}, []generation{gSetDel, gRedis, gRedisson}},
	{"unlock deletes another holder's lock", "the holder pauses past its lease, then unlocks", unlockAfterExpiry,
		[]generation{gSetDel}, []generation{gSetGetDel, gRedis, gRedisson}},
	{"the same, between two commands", "the holder pauses between two commands of Unlock", pauseWhileUnlocking,
		[]generation{gSetGetDel}, []generation{gLua, gRedis, gRedisson}},
	{"two processes have the same owner id", "as above; both holders are thread 1 of their process",
		pauseWhileUnlocking,
		[]generation{gThreadID}, []generation{gLua, gRedis}},
	{"the lease is shorter than the work", "the work takes three leases", workBeyondLease,
		[]generation{gLua}, []generation{gAcquire}},
	{"the inner unlock releases the outer lock", "locked twice, unlocked once", lockTwice,
		[]generation{gThreadLocal}, []generation{gCounting, gReenter, gRedissonReenter}},
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
	{"a failover loses the lock", "the master crashes before its replica has the lock", failOver,
		[]generation{gLua, gRedis, gRedisson}, []generation{gReplicated, gRedlock, gFenced}},
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
	Broke      bool   `json:"broke"`
	Seen       string `json:"seen"`
	Pass       bool   `json:"pass"`

	timeline []report.Lane
}

// A Result is the outcome of an experiment.
type Result struct {
	Defect string  `json:"defect"`
	Fault  string  `json:"provocation"`
	Breaks []Trial `json:"breaks"`
	Holds  []Trial `json:"holds"`
	Pass   bool    `json:"pass"`
}

// run injects the fault into each of e's generations, all at the same time. It
// returns an error if a trial could not be completed.
func (e experiment) run(ctx context.Context, l *lab.Lab, store *fencedStore) (Result, error) {
	result := Result{Defect: e.Defect, Fault: e.Fault, Pass: true,
		Breaks: make([]Trial, len(e.breaks)), Holds: make([]Trial, len(e.holds))}
	var trials errgroup.Group
	start := func(g generation, expect string, t *Trial) {
		trials.Go(func() error {
			o, lanes, err := runScenario(ctx, l, store, g, e.inject)
			*t = Trial{g.Name, expect, o.Broke, o.Seen, o.Broke == (expect == "break"), lanes}
			return err
		})
	}
	for i, g := range e.breaks {
		start(g, "break", &result.Breaks[i])
	}
	for i, g := range e.holds {
		start(g, "hold", &result.Holds[i])
	}
	err := trials.Wait()
	for _, t := range append(result.Breaks, result.Holds...) {
		result.Pass = result.Pass && t.Pass
	}
	return result, err
}
