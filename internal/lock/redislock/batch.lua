-- Acquire and release locks, in the order of the requests.
-- KEYS     the locks
-- ARGV[1]  PUBLISH or SPUBLISH
-- ARGV[2]  counts the attempts, for the client only
-- ARGV[2i+1], ARGV[2i+2]  the token of KEYS[i], and its ttl in ms; ttl 0 releases
-- Returns one character for each request: 1 if it was done, 0 if another holds
-- the lock or there was none to release, x if the key has another type. After
-- them, for each 0, a space and the ms that the lock has left (negative or 0: it
-- has no end, or was to be released).
local call, pcall, results, left = redis.call, redis.pcall, {}, {}
for i = 1, #KEYS do
	local key, token, ttl = KEYS[i], ARGV[2 * i + 1], ARGV[2 * i + 2]
	local holder, done
	if ttl == "0" then
		holder = pcall("GET", key)
		done = holder == token
		if done then
			call("DEL", key)
			call(ARGV[1], key, "")
		end
	else
		holder = pcall("SET", key, token, "NX", "GET", "PX", ttl)
		done = not holder or holder == token -- the token is there already after a retry
	end
	if done then
		results[i] = "1"
	elseif type(holder) ~= "table" then
		results[i] = "0"
		left[#left + 1] = " " .. (ttl == "0" and 0 or call("PTTL", key))
	elseif string.find(holder.err, "WRONGTYPE", 1, true) then
		results[i] = "x" -- an error of this key only
	else
		return holder -- an error of the server, for all requests
	end
end
return table.concat(results) .. table.concat(left)
