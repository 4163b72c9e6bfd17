-- Give a permit back.
-- KEYS[1] free permits, KEYS[2] taken ones
-- ARGV[1] id, ARGV[2] PUBLISH or SPUBLISH, ARGV[3] channel
-- Returns 1 if given back in time, 0 if its time was up.
local time = redis.call('time')
local ends = redis.call('zscore', KEYS[2], ARGV[1])
if not ends then
	return 0
end
redis.call('zrem', KEYS[2], ARGV[1])
redis.call(ARGV[2], ARGV[3], redis.call('incr', KEYS[1]))
return tonumber(ends) > time[1] * 1000 + math.floor(time[2] / 1000) and 1 or 0
