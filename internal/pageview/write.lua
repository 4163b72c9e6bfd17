-- Stores the count, unless a later holder of the lock has written.
-- KEYS[1] the count, KEYS[2] the highest fence written so far
-- ARGV[1] the new count, ARGV[2] the caller's fence (0: no fence, no check)
-- Returns 1 if the count was stored, 0 if the fence was stale.
local fence, last = tonumber(ARGV[2]), tonumber(redis.call("GET", KEYS[2]) or 0)
if fence > 0 then
	if fence < last then
		return 0
	end
	redis.call("SET", KEYS[2], ARGV[2])
end
redis.call("SET", KEYS[1], ARGV[1])
return 1
