-- Set the ttl of every lock that its owner still holds.
-- KEYS the locks
-- ARGV[1] ttl in ms, ARGV[i+1] the owner of the i-th lock
-- Returns an array with 1 (extended) or 0 (not held by its owner) for each lock.
local extended = {}
for i, lock in ipairs(KEYS) do
	local held = redis.pcall('hexists', lock, ARGV[i + 1])
	if held == 1 then
		extended[i] = redis.call('pexpire', lock, ARGV[1])
	elseif held == 0 or string.find(held.err, 'WRONGTYPE', 1, true) then
		extended[i] = 0 -- a key of another type is not the lock
	else
		return held -- an error of the server, for all locks
	end
end
return extended
