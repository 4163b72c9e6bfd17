-- Extend the locks that have our tokens.
-- KEYS       the locks
-- ARGV[1]    ttl in ms
-- ARGV[i+1]  the token of KEYS[i]
-- Returns for each lock 1 if extended, 0 if it does not have its token.
local extended = {}
for i, key in ipairs(KEYS) do
	local holder = redis.pcall("GET", key)
	if holder == ARGV[i + 1] then
		extended[i] = redis.call("PEXPIRE", key, ARGV[1])
	elseif type(holder) ~= "table" or string.find(holder.err, "WRONGTYPE", 1, true) then
		extended[i] = 0 -- a key of another type is not the lock
	else
		return holder -- an error of the server, for all locks
	end
end
return extended
