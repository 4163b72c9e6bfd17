-- Take every permit back.
-- KEYS[1] free permits, KEYS[2] taken ones; ARGV[1] PUBLISH or SPUBLISH, ARGV[2] channel
local taken = redis.call('zcard', KEYS[2])
redis.call('del', KEYS[2])
if taken > 0 then
	redis.call(ARGV[1], ARGV[2], redis.call('incrby', KEYS[1], taken))
end
return 1
