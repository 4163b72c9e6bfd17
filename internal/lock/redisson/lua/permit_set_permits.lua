-- Set the total number of permits, acquired ones included.
-- KEYS[1] the number of free permits, KEYS[2] the acquired permits
-- ARGV[1] the total, ARGV[2] PUBLISH or SPUBLISH, ARGV[3] channel
local change = ARGV[1] - (redis.call('get', KEYS[1]) or 0) - redis.call('zcard', KEYS[2])
notify(ARGV[2], ARGV[3], redis.call('incrby', KEYS[1], change))
return 1
