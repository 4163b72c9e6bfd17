-- Set the total number of permits, acquired ones included.
-- KEYS[1] the number of free permits, KEYS[2] the acquired permits
-- ARGV[1] PUBLISH or SPUBLISH, ARGV[2] channel, ARGV[3] the total
local change = ARGV[3] - (redis.call('get', KEYS[1]) or 0) - redis.call('zcard', KEYS[2])
notify(ARGV[1], ARGV[2], redis.call('incrby', KEYS[1], change))
return 1
