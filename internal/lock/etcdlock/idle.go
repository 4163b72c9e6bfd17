package etcdlock

import (
	"slices"
	"sync"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
)

// maxIdle bounds how many etcd leases wait to be used again.
const maxIdle = 64

// An idleLeases has the etcd leases that no key is bound to any more. Using one
// again saves the two Raft commits that granting one and revoking it cost. An
// etcd lease that is not used again expires.
type idleLeases struct {
	mu     sync.Mutex
	leases []idleLease
}

// An idleLease is an etcd lease that has expired by the time of until, or
// before.
type idleLease struct {
	id    clientv3.LeaseID
	ttl   int64 // in seconds
	until time.Time
}

// take removes and returns an etcd lease of ttl, which may have expired, or 0.
func (i *idleLeases) take(ttl int64) clientv3.LeaseID {
	i.mu.Lock()
	defer i.mu.Unlock()
	now := time.Now()
	i.leases = slices.DeleteFunc(i.leases, func(l idleLease) bool { return l.until.Before(now) })
	index := slices.IndexFunc(i.leases, func(l idleLease) bool { return l.ttl == ttl })
	if index < 0 {
		return 0
	}
	id := i.leases[index].id
	i.leases = slices.Delete(i.leases, index, index+1)
	return id
}

// put adds an etcd lease of ttl, and returns false if there are enough.
func (i *idleLeases) put(id clientv3.LeaseID, ttl int64) bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	if len(i.leases) == maxIdle {
		return false
	}
	i.leases = append(i.leases, idleLease{id, ttl, time.Now().Add(time.Duration(ttl) * time.Second)})
	return true
}
