-- Release a permit.
-- KEYS[1] the number of free permits, KEYS[2] the acquired permits
-- ARGV[1] id, ARGV[2] PUBLISH or SPUBLISH, ARGV[3] channel
-- Returns 1 if released (2: without the message), 0 if the permit had expired.
local time = redis.call('time')
local permit_end = redis.call('zscore', KEYS[2], ARGV[1])
if not permit_end then
	return 0
end
redis.call('zrem', KEYS[2], ARGV[1])
local told = notify(ARGV[2], ARGV[3], redis.call('incr', KEYS[1]))
return tonumber(permit_end) > time[1] * 1000 + math.floor(time[2] / 1000) and told or 0
