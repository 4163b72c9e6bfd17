-- Take an RFairLock if it is free and our turn; else queue, or put off our
-- deadline. A retry by the same owner takes nothing twice.
-- KEYS as above
-- ARGV[1] ttl in ms, ARGV[2] owner, ARGV[3] PUBLISH or SPUBLISH, ARGV[4] channel
-- without owner, ARGV[5] 1 to queue, 0 not to
-- Returns 0 if taken, else minus the ms after which to ask again at the latest.
local owner = ARGV[2]
local first, deadline, dropped = head()
local left = redis.call('pttl', KEYS[1])
if left == -2 and (not first or first == owner) or redis.call('hexists', KEYS[1], owner) == 1 then
	leave(owner)
	redis.call('hset', KEYS[1], owner, 1)
	redis.call('pexpire', KEYS[1], ARGV[1])
	return 0
end
if left == -2 and dropped then
	redis.call(ARGV[3], ARGV[4] .. ':' .. first, '0') -- nobody else will
end
if ARGV[5] == '1' then
	if not redis.call('zscore', KEYS[3], owner) then
		redis.call('rpush', KEYS[2], owner)
		redis.call('zadd', KEYS[3], 0, owner)
	end
	-- A Java waiter that leaves the queue takes its wait time, 5 minutes unless
	-- it said more, off the deadlines of all behind it.
	local allowance = 0
	local latest = redis.call('zrevrange', KEYS[3], 0, 0, 'withscores')[2]
	if tonumber(latest) > now + patience then
		for _, other in ipairs(redis.call('lrange', KEYS[2], 0, -1)) do
			if other == owner then
				break
			elseif not ours(other) then
				allowance = allowance + math.max(300000, (redis.call('zscore', KEYS[3], other) or now) - now)
			end
		end
	end
	redis.call('zadd', KEYS[3], now + patience + allowance, owner)
end
if left == -2 then
	left = deadline - now
elseif left == -1 then
	left = patience
end
return -math.max(left, 1)
