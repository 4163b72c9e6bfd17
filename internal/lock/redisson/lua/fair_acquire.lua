-- Acquire an RFairLock if it is free and no other owner is next. Otherwise
-- join the queue, or move the deadline in it. A second call by the same owner
-- changes only the ttl.
-- KEYS as in fair_queue.lua
-- ARGV[1] ttl in ms, ARGV[2] owner, ARGV[3] PUBLISH or SPUBLISH, ARGV[4] channel
-- without owner, ARGV[5] 1 to join the queue, 0 not to
-- Returns 0 if acquired, else minus the ms after which to try again at the latest.
local owner = ARGV[2]
local first, deadline, changed = head()
local ttl = redis.call('pttl', KEYS[1]) -- -2: the lock is free
if ttl == -2 and (not first or first == owner) or redis.call('hexists', KEYS[1], owner) == 1 then
	dequeue(owner)
	redis.call('hset', KEYS[1], owner, 1)
	redis.call('pexpire', KEYS[1], ARGV[1])
	return 0
end
if ttl == -2 and changed then
	notify(ARGV[3], ARGV[4] .. ':' .. first, '0') -- no release will
end
if ARGV[5] == '1' then
	if not redis.call('zscore', KEYS[3], owner) then
		redis.call('rpush', KEYS[2], owner)
		redis.call('zadd', KEYS[3], 0, owner)
	end
	-- A Java waiter that leaves the queue subtracts its wait time from the
	-- deadlines of all waiters behind it. The wait time is 5 minutes by default;
	-- a longer one shows in the deadline of that waiter.
	local allowance, previous = 0, now
	local latest = redis.call('zrevrange', KEYS[3], 0, 0, 'withscores')[2]
	if tonumber(latest) > now + go_timeout then
		for _, other in ipairs(redis.call('lrange', KEYS[2], 0, -1)) do
			if other == owner then
				break
			elseif not is_go(other) then
				local theirs = tonumber(redis.call('zscore', KEYS[3], other) or previous)
				allowance, previous = allowance + math.max(300000, theirs - previous), theirs
			end
		end
	end
	redis.call('zadd', KEYS[3], now + go_timeout + allowance, owner)
end
if ttl == -2 then
	ttl = deadline - now
elseif ttl == -1 then
	ttl = go_timeout
end
return -math.max(ttl, 1)
