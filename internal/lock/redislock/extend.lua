-- Extend the locks that have our tokens.
-- KEYS       the locks
-- ARGV[1]    ttl in ms
-- ARGV[i+1]  the token of KEYS[i]
-- Returns for each lock 1 if extended, 0 if it does not have its token.
local extended = {}
for i, key in ipairs(KEYS) do
	if redis.call("GET", key) == ARGV[i + 1] then
		extended[i] = redis.call("PEXPIRE", key, ARGV[1])
	else
		extended[i] = 0
	end
end
return extended
