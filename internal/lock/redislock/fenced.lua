-- Acquire a lock and give it a fence. A retry with the same token gets the same
-- fence.
-- KEYS[1]  the lock
-- KEYS[2]  its last fence
-- ARGV[1]  our token
-- ARGV[2]  ttl in ms
-- ARGV[3]  how long to store the fence, in ms
-- ARGV[4]  counts the attempts, for the client only
-- Returns the fence, or, if another holds the lock, minus the ms that it has left
-- (0 if it has no end)
local holder = redis.call("GET", KEYS[1])
local last = tonumber(redis.call("GET", KEYS[2]) or 0)
if not (last and last >= 0 and last < 2^53) then -- NaN is none of these
	return redis.error_reply("ERR the last fence is not a fence")
end
if holder == ARGV[1] then
	return last
elseif holder then
	return -math.max(redis.call("PTTL", KEYS[1]), 0)
end
local now = redis.call("TIME")
local fence = math.max(last + 1, now[1] * 1000000 + now[2]) -- below 2^53 until the year 2255
redis.call("SET", KEYS[1], ARGV[1], "PX", ARGV[2])
redis.call("SET", KEYS[2], string.format("%.0f", fence), "PX", ARGV[3])
return fence
