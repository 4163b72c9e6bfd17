package redisson

import "context"

var rlockType = lockType{
	acquire: script("rlock_acquire.lua"),
	release: script("notify.lua", "rlock_release.lua"),
	extend:  script("rlock_extend.lua"),
	keys:    nameOnly,
	needed:  nameOnly,
	channel: lockChannel,
	member:  identity,
}

func nameOnly(name, _ string) []string { return []string{name} }

func lockChannel(name string) string { return prefixed("redisson_lock__channel", name) }

// Lock returns Redisson's RLock. It can share locks with an RSpinLock in Java
// too. That sends no message when it unlocks; waiters then depend on their
// timers.
func (c *Client) Lock() RLock { return RLock{locker{c, &rlockType}} }

// An RLock is a lock.Locker and a lock.Notifier.
type RLock struct{ locker }

// Notify implements lock.Notifier. All waiters of a client share one
// connection (one per shard with sharded pub/sub) with one subscription per
// key.
func (l RLock) Notify(key string, wake chan<- struct{}) (stop func(), err error) {
	return l.c.messages.Listen(l.typ.channel(key), wake), nil
}

// Inspect returns the holders of key.
func (l RLock) Inspect(ctx context.Context, key string) (Info, error) {
	return l.c.inspect(ctx, key)
}

// ForceUnlock frees key without regard to its holders, and notifies the
// waiters. On a read or write lock it ends both kinds of holds. A former
// holder gets lock.ErrLost from its next Extend or Release.
func (l RLock) ForceUnlock(ctx context.Context, key string) error {
	message := "0" // Java wakes one waiter per client
	if l.typ == &writeLockType || l.typ == &readLockType {
		message = "1" // Java wakes all waiters
	}
	return l.c.change(ctx, forceUnlock, forceUnlockScript, []string{key}, l.typ.channel(key), message)
}
