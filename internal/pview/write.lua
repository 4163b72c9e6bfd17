-- Store the count, unless a later holder of the lock has been here.
-- KEYS[1] the count, KEYS[2] the highest fence that has written
-- ARGV[1] the count, ARGV[2] our fence (0: none, and nothing is checked)
-- Returns 1 if stored, 0 if refused.
local fence, last = tonumber(ARGV[2]), tonumber(redis.call("GET", KEYS[2]) or 0)
if fence > 0 then
	if fence < last then
		return 0
	end
	redis.call("SET", KEYS[2], ARGV[2])
end
redis.call("SET", KEYS[1], ARGV[1])
return 1
