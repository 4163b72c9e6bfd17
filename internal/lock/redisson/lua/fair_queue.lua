-- Functions for the queue of an RFairLock. They come before the other fair_*
-- scripts.
-- KEYS[1] the lock (hash of owner -> hold count)
-- KEYS[2] the queue (list of owners, the next first)
-- KEYS[3] the deadlines (zset of owner -> unix ms); an expired waiter is removed
local time = redis.call('time')
local now = time[1] * 1000 + math.floor(time[2] / 1000)

-- ms; a Go waiter that sends nothing for so long is removed, and so is a Java waiter that
-- is the first and leaves the lock free for so long
local go_timeout = 3000

-- is_go reports whether owner is a Go waiter. Go clients have UUIDs of
-- version 8, Java clients of version 4.
local function is_go(owner)
	return string.sub(owner, 15, 15) == '8'
end

-- head removes expired waiters from the head of the queue. It returns the
-- first waiter that is left (or false), its deadline, and whether that is to be
-- notified: others were removed, or it was given a new deadline. As in Redisson, a
-- waiter without a deadline is not removed. The deadline of a Go waiter at the head is
-- at most go_timeout ahead, even if it had to be later while Java waiters were before
-- it, and so is that of a Java waiter while the lock is free: its own may be hours ahead.
local function head()
	local changed = false
	while true do
		local owner = redis.call('lindex', KEYS[2], 0)
		local deadline = owner and tonumber(redis.call('zscore', KEYS[3], owner) or now + go_timeout)
		if owner and deadline > now + go_timeout and (is_go(owner) or redis.call('exists', KEYS[1]) == 0) then
			deadline = now + go_timeout
			changed = redis.call('zadd', KEYS[3], 'xx', 'ch', deadline, owner) == 1
		end
		if not owner or deadline > now then
			return owner, deadline, changed
		end
		redis.call('lpop', KEYS[2])
		redis.call('zrem', KEYS[3], owner)
		changed = true
	end
end

-- dequeue removes owner from the queue.
local function dequeue(owner)
	if redis.call('zrem', KEYS[3], owner) == 1 then
		redis.call('lrem', KEYS[2], 1, owner)
	end
end
