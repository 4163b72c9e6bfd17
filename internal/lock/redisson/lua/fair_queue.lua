-- The queue of an RFairLock.
-- KEYS[1] the lock, KEYS[2] who waits (list of owners, next first), KEYS[3] until
-- when each does (owner -> deadline in unix ms)
local time = redis.call('time')
local now = time[1] * 1000 + math.floor(time[2] / 1000)

local patience = 3000 -- ms that a waiter of ours is ahead of its deadline, at least

-- ours tells Go's waiters, whose UUIDs are of version 8, from Java's.
local function ours(owner)
	return string.sub(owner, 15, 15) == '8'
end

-- head drops waiters whose deadline has passed and returns the first that is
-- left (or false), its deadline, and whether any was dropped. Without a
-- deadline, one is left alone, as by Redisson. One of ours at the head needs
-- no more than its own patience, whatever it needed behind others.
local function head()
	local dropped = false
	while true do
		local owner = redis.call('lindex', KEYS[2], 0)
		local deadline = owner and tonumber(redis.call('zscore', KEYS[3], owner) or now + patience)
		if owner and ours(owner) and deadline > now + patience then
			deadline = now + patience
			redis.call('zadd', KEYS[3], 'xx', deadline, owner)
		end
		if not owner or deadline > now then
			return owner, deadline, dropped
		end
		redis.call('lpop', KEYS[2])
		redis.call('zrem', KEYS[3], owner)
		dropped = true
	end
end

-- leave takes owner out of the queue.
local function leave(owner)
	if redis.call('zrem', KEYS[3], owner) == 1 then
		redis.call('lrem', KEYS[2], 1, owner)
	end
end
