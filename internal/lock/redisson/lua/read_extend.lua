-- Set the ttl of a read hold that has not expired.
-- KEYS the lock, the hold
-- ARGV[1] ttl in ms, ARGV[2] the owner
-- Returns 1 (extended) or 0 (expired).
local held = redis.pcall('hexists', KEYS[1], ARGV[2])
if held == 1 then
	local extended = redis.call('pexpire', KEYS[2], ARGV[1])
	redis.call('pexpire', KEYS[1], math.max(redis.call('pttl', KEYS[1]), ARGV[1]))
	return extended
elseif held == 0 or string.find(held.err, 'WRONGTYPE', 1, true) then
	return 0 -- a key of another type is not the lock
end
return held -- an error of the server
