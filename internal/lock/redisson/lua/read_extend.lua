-- Set the ttl of every read hold that has not expired.
-- KEYS two for each lease: the lock, the hold
-- ARGV[1] ttl in ms, ARGV[i+1] the owner of the i-th lease
-- Returns an array with 1 (extended) or 0 (expired) for each lease.
local extended = {}
for i = 2, #ARGV do
	local lock, hold = KEYS[2 * i - 3], KEYS[2 * i - 2]
	local held = redis.pcall('hexists', lock, ARGV[i])
	if held == 1 then
		extended[i - 1] = redis.call('pexpire', hold, ARGV[1])
		redis.call('pexpire', lock, math.max(redis.call('pttl', lock), ARGV[1]))
	elseif held == 0 or string.find(held.err, 'WRONGTYPE', 1, true) then
		extended[i - 1] = 0 -- a key of another type is not the lock
	else
		return held -- an error of the server, for all leases
	end
end
return extended
