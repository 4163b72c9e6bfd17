-- Set the end of every permit that has not expired.
-- KEYS two for each permit: the free permits, the acquired permits
-- ARGV[1] ttl in ms, ARGV[i+1] the id of the i-th permit
-- Returns an array with 1 (extended) or 0 (expired) for each permit.
local time = redis.call('time')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local extended = {}
for i = 2, #ARGV do
	local acquired = KEYS[2 * i - 2]
	local permit_end = redis.call('zscore', acquired, ARGV[i])
	if permit_end and tonumber(permit_end) > now then
		redis.call('zadd', acquired, now + ARGV[1], ARGV[i])
		extended[i - 1] = 1
	else
		extended[i - 1] = 0
	end
end
return extended
