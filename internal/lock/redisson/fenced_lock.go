package redisson

var fencedLockType = lockType{
	acquire: script("fenced_acquire.lua"),
	release: rlockType.release,
	extend:  rlockType.extend,
	keys: func(name, _ string) []string {
		return []string{name, prefixed("redisson_lock_token", name)}
	},
	needed:  nameOnly,
	channel: lockChannel,
	member:  identity,
}

// FencedLock returns Redisson's RFencedLock: an RLock whose leases have a
// fence, which Redisson calls a token. Go and Java increment the same counter,
// so fences rise across both.
//
// A fence issued by Go is at least the server's time in microseconds. Fences
// therefore rise even after Redis has lost its data, unless Java then acquires
// the lock first: it starts at 1. As in Redisson the counter is never deleted,
// which leaves one small key for every name that was ever locked.
func (c *Client) FencedLock() RLock { return RLock{locker{c, &fencedLockType}} }
