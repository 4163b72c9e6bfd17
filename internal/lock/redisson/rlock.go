package redisson

var rlockType = lockType{
	acquire: script("rlock_acquire.lua"),
	release: script("rlock_release.lua"),
	extend:  script("rlock_extend.lua"),
	keys:    func(name, _ string) []string { return []string{name} },
	channel: lockChannel,
	member:  identity,
}

func lockChannel(name string) string { return prefixed("redisson_lock__channel", name) }

// Lock is Redisson's RLock, and its RSpinLock, which publishes nothing: the
// policy's timer finds that one free.
func (c *Client) Lock() RLock { return RLock{locker{c, &rlockType}} }
