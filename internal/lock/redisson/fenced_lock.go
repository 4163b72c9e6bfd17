package redisson

var fencedLockType = lockType{
	acquire: script("fenced_acquire.lua"),
	release: rlockType.release,
	extend:  rlockType.extend,
	keys: func(name, _ string) []string {
		return []string{name, prefixed("redisson_lock_token", name)}
	},
	channel: lockChannel,
	member:  identity,
}

// FencedLock is Redisson's RFencedLock: an RLock whose leases carry a fence
// that rises in Go and Java alike, for both count with the same key.
//
// Go never mints below the server's clock in microseconds, so that fences rise
// even after Redis has lost its data, as long as Go mints first: Java would
// begin at 1 again. As in Redisson the counter is never deleted: one small key
// for every name ever locked.
func (c *Client) FencedLock() RLock { return RLock{locker{c, &fencedLockType}} }
