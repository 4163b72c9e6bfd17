-- Acquire and release locks, in the order of the requests.
-- KEYS     the locks
-- ARGV[1]  PUBLISH or SPUBLISH
-- ARGV[2]  counts the attempts, for the client only
-- ARGV[2i+1], ARGV[2i+2]  the token of KEYS[i], and its ttl in ms; ttl 0 releases
-- Returns for each request: 1 if it was done; 2 if released and this user may not
-- notify the waiters; if another holds the lock, minus the ms that it has left (0: it
-- has no end, or this user may not ask); 0 if there was none to release; an error's
-- text if it failed. A full server refuses those who acquire, and nobody else.
local pcall, results = redis.pcall, {}
for i = 1, #KEYS do
	local key, token, ttl = KEYS[i], ARGV[2 * i + 1], ARGV[2 * i + 2]
	local holder, result
	if ttl == "0" then
		holder = pcall("GET", key)
		if holder == token then
			holder = pcall("DEL", key)
			result = holder == 1 and (type(pcall(ARGV[1], key, "")) == "number" and 1 or 2)
		end
	else
		holder = pcall("SET", key, token, "NX", "GET", "PX", ttl)
		result = (not holder or holder == token) and 1 -- the token is there already after a retry
	end
	if result then
		results[i] = result
	elseif type(holder) ~= "table" then
		local left = ttl ~= "0" and pcall("PTTL", key)
		results[i] = type(left) == "number" and -math.max(left, 0) or 0
	elseif string.find(holder.err, "READONLY", 1, true) then
		return holder -- of all requests; the client then looks for the master
	else
		results[i] = holder.err
	end
end
return results
