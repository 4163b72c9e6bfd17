-- Take a lock and mint its fence; a retry by the same owner gets the same one.
-- KEYS[1] the lock, KEYS[2] its last fence
-- ARGV[1] our token, ARGV[2] ttl in ms, ARGV[3] how long to remember the fence, in ms
-- Returns the fence, or 0 if another holds the lock.
local holder = redis.call("GET", KEYS[1])
local last = tonumber(redis.call("GET", KEYS[2]) or 0)
if holder == ARGV[1] then
	return last
elseif holder then
	return 0
end
local now = redis.call("TIME")
local fence = math.max(last + 1, now[1] * 1000000 + now[2]) -- below 2^53 until the year 2255
redis.call("SET", KEYS[1], ARGV[1], "PX", ARGV[2])
redis.call("SET", KEYS[2], string.format("%.0f", fence), "PX", ARGV[3])
return fence
