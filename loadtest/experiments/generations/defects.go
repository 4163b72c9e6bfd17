package generations

import "time"

// longLease is longer than any scenario, and lease is one that is waited for.
const (
	longLease = time.Minute
	lease     = time.Second
)

// An experiment is one defect, the fault that triggers it, and the generations
// expected to break and to hold under that fault.
type experiment struct {
	Defect string
	Fault  string
	play   step
	breaks []generation
	holds  []generation
}

var experiments = []experiment{
	{"the lock never expires", "the process crashes between two commands of TryLock", crashWhileLocking,
		[]generation{gSetnxExpire}, []generation{gSetDel, gScript, gRedis, gRedisson}},
	{"unlock deletes another holder's lock", "the holder pauses past its lease, then unlocks",
		steps(locks(a), expires, locks(b), unlocks(a),
			refused(c, "A deleted B's lock and C locked too", "A deleted nothing; C is refused")),
		[]generation{gSetDel}, []generation{gSetGetDel, gRedis, gRedisson}},
	{"the same, between two commands", "the holder pauses between two commands of Unlock", pauseWhileUnlocking,
		[]generation{gSetGetDel}, []generation{gLua, gRedis, gRedisson}},
	{"two processes have the same owner id", "as above; both holders are thread 1 of their process",
		pauseWhileUnlocking,
		[]generation{gThreadID}, []generation{gLua, gRedis}},
	{"unlock without a lock deletes the holder's", "a process is refused, and its finally unlocks",
		steps(locks(a), refused(b, "B locked too", ""), unlocks(b), refused(c,
			"B, which had no lock, deleted A's, and C locked too", "B's unlock changes nothing; C is refused")),
		[]generation{gSetDel, gThreadID}, []generation{gSetGetDel, gLua, gRedis, gRedisson}},
	{"the lease is shorter than the work", "the work takes three leases",
		steps(locksFor(a, lease), works, unlocks(a), locksFor(b, lease)),
		[]generation{gLua}, []generation{gThread, gPrinted, gAcquire}},
	{"one lost renewal ends the lease", "the next renewal is lost; the work takes three leases",
		steps(locksFor(a, lease), suffers(a, lostRequest, 1), works, unlocks(a), locksFor(b, lease)),
		[]generation{gThread, gPrinted}, []generation{gAcquire}},
	{"the holder is not told that renewals fail", "the holder is cut off from the server",
		steps(locksFor(a, lease), suffers(a, cutOff, 1), locksAtLast(b), knowsOfItsLoss),
		[]generation{gThread, gPrinted}, []generation{gAcquire}},
	{"a renewal prolongs another holder's lock", "the lease ends, the next holder locks and crashes",
		steps(locksFor(a, lease), expires, locksFor(b, lease), suffers(b, crash, 1), leavesNoLock),
		[]generation{gThread}, []generation{gPrinted, gAcquire}},
	{"the inner unlock releases the outer lock", "locked twice, unlocked once",
		steps(locks(a), locks(a), unlocks(a), refused(b, "the inner unlock released the lock: B locked too",
			"B is refused until the outer unlock"), unlocks(a), locks(b)),
		[]generation{gThreadLocal}, []generation{gCounting, gReenter, gRedissonReenter}},
	// A takes one of a stock of 100, and locks again for the sales count within. B orders as soon as it can.
	{"stock and sales disagree", "a second order comes while the first locks twice",
		steps(locks(a), reenters(a, "A's own lock refuses A: no sale is counted"), unlocks(a),
			refused(b, "B ordered inside A's section: 2 sold, stock 99 of 100",
				"B waits for A's outer unlock: 2 sold, stock 98 of 100"), unlocks(a), locks(b)),
		[]generation{gLua, gThreadLocal}, []generation{gCounting, gReenter, gRedissonReenter}},
	{"the second attempt succeeds without a lock", "tries twice while another process holds the lock",
		steps(locks(a), refused(b, "B's first attempt succeeded", ""),
			refused(b, "B's second attempt succeeded without a request to Redis", "B is refused both times")),
		[]generation{gThreadLocal}, []generation{gCounting, gReenter}},
	{"re-entry after the lease has expired", "the lease expires, another process locks, the first re-enters",
		steps(locksFor(a, lease), locksAtLast(b),
			refused(a, "A re-entered the lock that B holds", "A's re-entry is refused")),
		[]generation{gCounting}, []generation{gReenter}},
	{"unlock leaves its queue entry behind", "one process locks and unlocks, the next waits",
		steps(locks(a), unlocks(a), waits(b, "the second process")),
		[]generation{gFair}, []generation{gQueue, gRedissonFair}},
	{"a crashed waiter blocks the queue", "a waiter crashes, then the holder unlocks",
		steps(locks(a), crashInQueue(b), unlocks(a), waits(c, "the next waiter")),
		[]generation{gFair}, []generation{gQueue, gRedissonFair}},
	{"each release wakes every waiter", "sixteen wait in ZooKeeper", handOver,
		[]generation{gOneZnode}, []generation{gZKQueue}},
	{"a failover loses the lock", "the master crashes before its replica has the lock", failOver(1),
		[]generation{gLua, gRedis, gRedisson}, []generation{gReplicated, gRedlock, gFenced}},
	{"two failovers make three holders", "the master crashes, and then the replica in its place", failOver(2),
		[]generation{gLua, gRedisson}, []generation{gReplicated, gRedlock, gFenced}},
	{"the lease ends when the server's clock says so", "the clock of a server steps past the lease",
		steps(lockAndStepClock, tries(b), holdersWrite),
		[]generation{gLua, gRedis, gRedisson}, []generation{gRedlock, gFenced}},
	{"one hung node prevents locking", "one of five nodes hangs", hangNode,
		[]generation{gSequence}, []generation{gRedlock}},
	{"the holder counts its lease too long", "one of five nodes replies late", delayNode,
		[]generation{gSequence}, []generation{gRedlock}},
	{"a paused holder writes after its lease", "the holder pauses past its lease, then writes",
		steps(locks(a), expires, tries(b), holdersWrite),
		[]generation{gLua, gRedis, gRedisson, gRedlock}, []generation{gFenced}},
}
