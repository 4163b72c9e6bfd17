-- Acquire one permit of an RPermitExpirableSemaphore, after returning the
-- expired ones. A second call with the same id changes only the ttl.
-- KEYS[1] the number of free permits
-- KEYS[2] the acquired permits (zset of id -> end in unix ms)
-- ARGV[1] ttl in ms, ARGV[2] id, ARGV[3] PUBLISH or SPUBLISH, ARGV[4] channel
-- Returns 0 if acquired, else minus the ms until the next permit expires (-1: not
-- known).
local time = redis.call('time')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
if not redis.call('zscore', KEYS[2], ARGV[2]) then
	local expired = redis.call('zremrangebyscore', KEYS[2], 0, now)
	local free = tonumber(redis.call('get', KEYS[1]) or 0)
	if expired > 0 then
		free = redis.call('incrby', KEYS[1], expired)
		notify(ARGV[3], ARGV[4], free)
	end
	if free < 1 then
		local next = redis.call('zrange', KEYS[2], 0, 0, 'withscores')[2]
		return -math.max((next or now) - now, 1)
	end
	redis.call('decr', KEYS[1])
end
redis.call('zadd', KEYS[2], math.ceil(time[1] * 1000 + time[2] / 1000) + ARGV[1], ARGV[2])
local ttl = redis.call('pttl', KEYS[1])
if ttl > 0 then
	redis.call('pexpire', KEYS[2], ttl)
end
return 0
