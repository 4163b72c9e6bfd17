-- Set the ttl of every read hold that has not expired.
-- KEYS three for each lease: the lock, the hold, one that is not used
-- ARGV[1] ttl in ms, ARGV[i+1] the owner of the i-th lease
-- Returns an array with 1 (extended) or 0 (expired) for each lease.
local extended = {}
for i = 2, #ARGV do
	local lock, hold = KEYS[3 * i - 5], KEYS[3 * i - 4]
	if redis.call('hexists', lock, ARGV[i]) == 1 then
		extended[i - 1] = redis.call('pexpire', hold, ARGV[1])
		redis.call('pexpire', lock, math.max(redis.call('pttl', lock), ARGV[1]))
	else
		extended[i - 1] = 0
	end
end
return extended
