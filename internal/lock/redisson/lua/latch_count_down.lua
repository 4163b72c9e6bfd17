-- Count down; the last count opens the latch.
-- KEYS[1] the counts that are missing; ARGV[1] PUBLISH or SPUBLISH, ARGV[2] channel
local missing = redis.call('decr', KEYS[1])
if missing <= 0 then
	redis.call('del', KEYS[1])
end
if missing == 0 then
	redis.call(ARGV[1], ARGV[2], '0')
end
return 1
