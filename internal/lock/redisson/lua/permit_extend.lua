-- Set the end of a permit that has not expired. Nothing grows, so a full server does it
-- as it extends any other lock.
-- KEYS the acquired permits of the semaphore
-- ARGV[1] ttl in ms, ARGV[2] the id of the permit
-- Returns 1 (extended) or 0 (expired).
local time = redis.call('time')
local now = time[1] * 1000 + time[2] / 1000
local permit_end = redis.pcall('zscore', KEYS[1], ARGV[2])
if type(permit_end) == 'table' then
	return string.find(permit_end.err, 'WRONGTYPE', 1, true) and 0 or permit_end
elseif not permit_end or tonumber(permit_end) <= now then
	return 0
end
redis.call('zadd', KEYS[1], 'xx', math.ceil(now) + ARGV[1], ARGV[2])
return 1
