-- Set the number of permits, taken ones included.
-- KEYS[1] free permits, KEYS[2] taken ones
-- ARGV[1] how many, ARGV[2] PUBLISH or SPUBLISH, ARGV[3] channel
local missing = ARGV[1] - (redis.call('get', KEYS[1]) or 0) - redis.call('zcard', KEYS[2])
redis.call(ARGV[2], ARGV[3], redis.call('incrby', KEYS[1], missing))
return 1
