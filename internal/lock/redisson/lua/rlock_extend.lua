-- Set the ttl of a lock that its owner still holds.
-- KEYS the lock
-- ARGV[1] ttl in ms, ARGV[2] the owner
-- Returns 1 (extended) or 0 (not held by its owner).
local held = redis.pcall('hexists', KEYS[1], ARGV[2])
if held == 1 then
	return redis.call('pexpire', KEYS[1], ARGV[1])
elseif held == 0 or string.find(held.err, 'WRONGTYPE', 1, true) then
	return 0 -- a key of another type is not the lock
end
return held -- an error of the server
