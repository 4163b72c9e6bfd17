package bench

// locks are redislock and its peers on the same Redis.
var locks = section{
	name: "locks", prepare: prepareLocks,
	tables: []table{
		pairsTable(),
		{"contention", []string{
			"", "hand-overs/s", "acquisitions/s", "wait, p99", "wait, longest", "Redis calls per hand-over",
		}, []row{
			contentionRow(batched), contentionRow(own), contentionRow(bsm), contentionRow(redsync),
			contentionRow(rueidis),
		}},
		{"renewals", []string{"", "calls"}, []row{renewalsRow(own), renewalsRow(rueidis)}},
	},
	limits: []limit{
		{"redislock pairs, 1 goroutine / SET NX + compare-and-delete", ratio(pairs1.of(own), pairs1.of(raw)),
			0.9, atLeast},
		{"redislock pairs, batched, 128 goroutines / best peer",
			overHighest(pairs128.of(batched), pairs128.ofPeers()), 1.7, atLeast},
		{"redislock pairs, batched, 512 goroutines / best peer",
			overHighest(pairs512.of(batched), pairs512.ofPeers()), 2.5, atLeast},
		{"contended hand-overs / best peer", overHighest(handOvers(own).figure, []figure{
			handOvers(bsm).figure, handOvers(redsync).figure, handOvers(rueidis).figure,
		}), 1.2, atLeast},
		{"lock calls per hand-over", of(handOvers(own).calls()), contendProcesses + 1, atMost},
	},
}

// queues are the drivers of the services that queue waiters themselves, and the
// services' own locks.
var queues = section{name: "queues", prepare: prepareQueues}

// A lockName is a lock of bench-peers.
type lockName struct{ name, label string }

var (
	raw     = lockName{"raw", "SET NX and compare-and-delete"} // the least that a lock with an owner can do
	own     = lockName{"redislock", "`redislock`"}
	batched = lockName{"redislock batched", "`redislock`, batched, as the service uses it"}
	bsm     = lockName{"bsm redislock", "bsm/redislock"}
	redsync = lockName{"redsync", "redsync"}
	rueidis = lockName{"rueidislock", "rueidislock"}

	etcd      = lockName{"etcdlock", "`etcdlock`"}
	etcdMutex = lockName{"etcd mutex", "etcd's mutex"}

	peerLocks = []lockName{bsm, redsync, rueidis}
)

const (
	contendProcesses = 4
	contendWaiters   = 16 // in each process
	heldLocks        = 10_000
	heldTTL          = 3 // seconds
)

// pairs are acquisitions and releases without contention, by so many goroutines.
type pairs struct{ goroutines int }

var (
	pairs1, pairs16, pairs128, pairs512 = pairs{1}, pairs{16}, pairs{128}, pairs{512}

	allPairs = []pairs{pairs1, pairs16, pairs128, pairs512}
)

func (p pairs) of(l lockName) figure { return rateOf("pairs/%d/%s", p.goroutines, l.name).figure }

func (p pairs) ofPeers() []figure { return []figure{p.of(bsm), p.of(redsync), p.of(rueidis)} }

// contention is how often the waiters of several processes hand one lock over to
// each other.
type contention struct{ figure }

func handOvers(l lockName) contention { return contention{figure{"contended/" + l.name, "1/s"}} }

func (c contention) acquisitions() figure { return c.with("takings, the last holder's own too", "1/s") }
func (c contention) waitP99() figure      { return c.with("wait p99", "ms") }
func (c contention) waitMax() figure      { return c.with("wait max", "ms") }
func (c contention) calls() figure        { return c.with("calls", "per hand-over") }

// renewals are the calls to Redis that renew many held locks.
func renewals(l lockName) figure { return figure{"held/" + l.name, "calls per ttl/3 for 10,000"} }

func pairsTable() table {
	t := table{name: "pairs", header: []string{"", "1 goroutine", "16 goroutines", "128 goroutines", "512 goroutines"}}
	for _, l := range []lockName{raw, batched, own, bsm, redsync, rueidis} {
		r := row{label: l.label}
		for _, p := range allPairs {
			r.cells = append(r.cells, spread(p.of(l)))
		}
		t.rows = append(t.rows, r)
	}
	return t
}

func contentionRow(l lockName) row {
	c := handOvers(l)
	return row{l.label, []cell{
		spread(c.figure), number(c.acquisitions()), value(c.waitP99()), value(c.waitMax()), number(c.calls()),
	}}
}

func renewalsRow(l lockName) row { return row{l.label, []cell{spread(renewals(l))}} }
