-- Acquire and release locks, in the order of the requests.
-- KEYS     the locks
-- ARGV[1]  PUBLISH or SPUBLISH
-- ARGV[2]  counts the attempts, for the client only
-- ARGV[2i+1], ARGV[2i+2]  the token of KEYS[i], and its ttl in ms; ttl 0 releases
-- Returns one character for each request: 1 if it was done, 2 if released and this
-- user may not notify the waiters, 0 if another holds the lock or there was none to
-- release, e if it failed. After them, for each 0, a space and the ms that the lock
-- has left (negative or 0: it has no end, was to be
-- released, or this user may not ask); then, for each e,
-- a line feed and the error. A full server refuses those who acquire, and nobody else.
local pcall, results, left, errors = redis.pcall, {}, {}, {}
for i = 1, #KEYS do
	local key, token, ttl = KEYS[i], ARGV[2 * i + 1], ARGV[2 * i + 2]
	local holder, done
	if ttl == "0" then
		holder = pcall("GET", key)
		if holder == token then
			holder = pcall("DEL", key)
			done = holder == 1 and (type(pcall(ARGV[1], key, "")) == "number" and "1" or "2")
		end
	else
		holder = pcall("SET", key, token, "NX", "GET", "PX", ttl)
		done = (not holder or holder == token) and "1" -- the token is there already after a retry
	end
	if done then
		results[i] = done
	elseif type(holder) ~= "table" then
		results[i] = "0"
		local ms = ttl ~= "0" and pcall("PTTL", key)
		left[#left + 1] = " " .. (type(ms) == "number" and ms or 0)
	elseif string.find(holder.err, "READONLY", 1, true) then
		return holder -- of all requests; the client then looks for the master
	else
		results[i] = "e"
		errors[#errors + 1] = "\n" .. holder.err
	end
end
return table.concat(results) .. table.concat(left) .. table.concat(errors)
