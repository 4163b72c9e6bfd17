-- Extend a lock that has our token.
-- KEYS[1]  the lock
-- ARGV[1]  ttl in ms
-- ARGV[2]  our token
-- Returns 1 if extended, 0 if the lock does not have our token.
local holder = redis.pcall("GET", KEYS[1])
if holder == ARGV[2] then
	return redis.call("PEXPIRE", KEYS[1], ARGV[1])
elseif type(holder) ~= "table" or string.find(holder.err, "WRONGTYPE", 1, true) then
	return 0 -- a key of another type is not the lock
end
return holder -- an error of the server
