-- Take one permit, after taking back those whose time is up; a retry with the
-- same id takes nothing twice.
-- KEYS[1] free permits, KEYS[2] taken ones (id -> end in unix ms)
-- ARGV[1] ttl in ms, ARGV[2] id, ARGV[3] PUBLISH or SPUBLISH, ARGV[4] channel
-- Returns 0 if taken, -1 if none is free.
local time = redis.call('time')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
if not redis.call('zscore', KEYS[2], ARGV[2]) then
	local ended = redis.call('zremrangebyscore', KEYS[2], 0, now)
	local free = tonumber(redis.call('get', KEYS[1]) or 0)
	if ended > 0 then
		free = redis.call('incrby', KEYS[1], ended)
		redis.call(ARGV[3], ARGV[4], free)
	end
	if free < 1 then
		return -1
	end
	redis.call('decr', KEYS[1])
end
redis.call('zadd', KEYS[2], now + ARGV[1], ARGV[2])
local left = redis.call('pttl', KEYS[1])
if left > 0 then
	redis.call('pexpire', KEYS[2], left)
end
return 0
