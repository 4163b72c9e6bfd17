-- Return every acquired permit without regard to its holder.
-- KEYS[1] the number of free permits, KEYS[2] the acquired permits
-- ARGV[1] PUBLISH or SPUBLISH, ARGV[2] channel
local acquired = redis.call('zcard', KEYS[2])
redis.call('del', KEYS[2])
if acquired > 0 then
	notify(ARGV[1], ARGV[2], redis.call('incrby', KEYS[1], acquired))
end
return 1
