package redisdriver

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/redis/go-redis/v9"

	"example.com/flashsale/internal/lock"
	"example.com/flashsale/internal/lock/driver"
)

// A ScriptLease is a lease in Redis that a script extends.
type ScriptLease interface {
	lock.Lease
	// Extended returns the keys that the script needs, all in one slot of a cluster.
	Extended() []string
	// Owner returns what the server stores to identify the owner.
	Owner() string
	// State returns the lease's driver.Expiry.
	State() *driver.Expiry
}

// MaxBatch is how many leases one script extends, as in Redisson. More would
// block Redis for longer than other clients should wait.
const MaxBatch = 100

var (
	errForeign = errors.New("not a lease of this locker")
	errNoReply = errors.New("no reply in time")
)

// ExtendAll extends leases to ttl from now by script, MaxBatch of them in one
// call and all calls in one round trip. In a cluster, where a script must not
// leave its slot, each slot has its own call, and each node one round trip. Own
// returns a lease as the locker's own, if it is one.
//
// ExtendAll returns when ctx ends, also if rdb does not. A node that has not
// replied by then changes the results of its own leases only.
//
// A call that the server refuses because of one of its keys, or because they are not
// all at one node while their slot is moved, is repeated for each lease by itself.
//
// The script gets the keys of all leases as KEYS, the ttl in milliseconds as
// ARGV[1] and their owners after it. It returns an array with 1 for each
// extended lease and 0 for each that its owner has no longer.
func ExtendAll[L ScriptLease](ctx context.Context, rdb redis.UniversalClient, script *redis.Script, ttl time.Duration,
	leases []lock.Lease, own func(lock.Lease) (L, bool)) []error {
	errs := make([]error, len(leases))
	held := make([]ScriptLease, 0, len(leases))
	indexes := make([]int, 0, len(leases)) // of held in leases
	for i, lease := range leases {
		switch l, ok := own(lease); {
		case !ok:
			errs[i] = errForeign
		case l.State().Ended():
			errs[i] = lock.ErrLost
		default:
			held, indexes = append(held, l), append(indexes, i)
		}
	}
	for i, err := range extendNodes(ctx, rdb, script, ttl, held) {
		if err != nil && !errors.Is(err, lock.ErrLost) {
			err = fmt.Errorf("extend %s: %w", held[i].Extended()[0], err)
		}
		errs[indexes[i]] = err
	}
	return errs
}

// extendNodes extends the leases of each node in a goroutine of its own. It
// returns one result for each lease.
func extendNodes(
	ctx context.Context, rdb redis.UniversalClient, script *redis.Script, ttl time.Duration, leases []ScriptLease,
) []error {
	cluster, _ := rdb.(*redis.ClusterClient)
	nodes := byNode(ctx, cluster, leases)
	results := make(chan map[int]error, len(nodes))
	for _, indexes := range nodes {
		go func() { results <- extend(ctx, rdb, script, ttl, leases, batches(leases, indexes, cluster != nil)) }()
	}
	errs := slices.Repeat([]error{errNoReply}, len(leases))
	for range nodes {
		select {
		case extended := <-results:
			for n, err := range extended {
				errs[n] = err
			}
		case <-ctx.Done():
			return errs
		}
	}
	return errs
}

// byNode groups the indexes of leases by their nodes. Without a cluster there is
// one group.
func byNode(ctx context.Context, cluster *redis.ClusterClient, leases []ScriptLease) map[*redis.Client][]int {
	nodes := map[*redis.Client][]int{}
	for i, l := range leases {
		var node *redis.Client // nil also if the node is not known
		if cluster != nil {
			node, _ = cluster.MasterForKey(ctx, l.Extended()[0])
		}
		nodes[node] = append(nodes[node], i)
	}
	return nodes
}

// extend makes one call for each of batches, which are indexes of leases. It
// returns the result of each lease by index.
func extend(ctx context.Context, rdb redis.UniversalClient, script *redis.Script, ttl time.Duration,
	leases []ScriptLease, batches [][]int) map[int]error {
	calls := make([]*ScriptCall, len(batches))
	end := time.Now().Add(ttl)
	for i, batch := range batches {
		calls[i] = &ScriptCall{Args: []any{driver.Milliseconds(ttl)}}
		for _, n := range batch {
			leases[n].State().Extending(end)
			calls[i].Keys = append(calls[i].Keys, leases[n].Extended()...)
			calls[i].Args = append(calls[i].Args, leases[n].Owner())
		}
	}
	Call(ctx, rdb, script, calls...)
	errs := map[int]error{}
	var alone [][]int
	for i, batch := range batches {
		if len(batch) > 1 && Divisible(calls[i].Reply.Err()) {
			alone = slices.AppendSeq(alone, slices.Chunk(batch, 1))
			continue
		}
		extended, err := flags(calls[i].Reply, len(batch))
		for j, n := range batch {
			if errs[n] = err; err == nil {
				errs[n] = leases[n].State().Extended(extended[j], end)
			}
		}
	}
	if len(alone) > 0 {
		maps.Copy(errs, extend(ctx, rdb, script, ttl, leases, alone))
	}
	return errs
}

// batches divides indexes into those of the leases that share a call.
func batches(leases []ScriptLease, indexes []int, cluster bool) (all [][]int) {
	bySlot := map[int][]int{}
	for _, i := range indexes {
		slot := 0
		if cluster {
			slot = Slot(leases[i].Extended()[0])
		}
		bySlot[slot] = append(bySlot[slot], i)
	}
	for _, indexes := range bySlot {
		all = slices.AppendSeq(all, slices.Chunk(indexes, MaxBatch))
	}
	return all
}
