package redisson

import (
	"github.com/redis/go-redis/v9"

	"example.com/flashsale/internal/lock"
	"example.com/flashsale/internal/lock/driver/redisdriver"
)

// A lockType is the format of one of Redisson's locks: the keys that hold its
// state and the scripts that change it. The scripts of all types take the same
// arguments:
//
//	acquire  KEYS keys(name, owner)  ARGV ttl in ms, member, PUBLISH command, channel, wait
//	         returns the fence (0: none) if acquired, else minus the ms after which
//	         to try again at the latest (-1: not known)
//	release  KEYS as above  ARGV member, PUBLISH command, channel
//	         returns 1 if released, 0 if the owner did not hold the lock
//	extend   KEYS needed(name, owner)  ARGV ttl in ms, member
//	         returns 1 (extended) or 0 (no longer held)
//
// Only the fair lock uses the argument wait: see fair_acquire.lua.
type lockType struct {
	acquire, release, extend *redis.Script

	keys    func(name, owner string) []string
	needed  func(name, owner string) []string // a lock whose slot is moved is extended without the others
	channel func(name string) string
	member  func(owner string) string // the form in which the lock stores its owner
}

// notTold is the reply to a request that is refused for a time that the server
// does not know.
const notTold = -1

// locked returns the error of a refused request. The reply of a fair lock is also
// the time of a waiter, and no holder's.
func (t *lockType) locked(reply int64) error {
	if reply == notTold || t == &fairLockType {
		return lock.ErrLocked
	}
	return lock.Locked(redisdriver.TimeLeft(-reply))
}

func identity(owner string) string { return owner }
