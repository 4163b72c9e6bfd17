-- Set the end of every permit whose time is not up.
-- KEYS two for each: free permits, taken ones
-- ARGV[1] ttl in ms, ARGV[i+1] the id of the i-th
-- Returns for each 1 if extended, 0 if its time was up.
local time = redis.call('time')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local extended = {}
for i = 2, #ARGV do
	local taken = KEYS[2 * i - 2]
	local ends = redis.call('zscore', taken, ARGV[i])
	if ends and tonumber(ends) > now then
		redis.call('zadd', taken, now + ARGV[1], ARGV[i])
		extended[i - 1] = 1
	else
		extended[i - 1] = 0
	end
end
return extended
