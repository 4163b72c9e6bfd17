-- Set the end of every permit that has not expired. Nothing grows, so a full server
-- does it as it extends any other lock.
-- KEYS the acquired permits of each permit's semaphore
-- ARGV[1] ttl in ms, ARGV[i+1] the id of the i-th permit
-- Returns an array with 1 (extended) or 0 (expired) for each permit.
local time = redis.call('time')
local now = time[1] * 1000 + time[2] / 1000
local extended = {}
for i, acquired in ipairs(KEYS) do
	local permit_end = redis.pcall('zscore', acquired, ARGV[i + 1])
	if type(permit_end) ~= 'table' then
		extended[i] = 0
		if permit_end and tonumber(permit_end) > now then
			redis.call('zadd', acquired, 'xx', math.ceil(now) + ARGV[1], ARGV[i + 1])
			extended[i] = 1
		end
	elseif string.find(permit_end.err, 'WRONGTYPE', 1, true) then
		extended[i] = 0 -- a key of another type has no permits
	else
		return permit_end -- an error of the server, for all permits
	end
end
return extended
