-- Turn a write hold into a read hold of the same owner and notify the waiting
-- readers. A second call by the same owner changes nothing.
-- KEYS[1] the lock, KEYS[2] the read hold
-- ARGV[1] ttl in ms, ARGV[2] owner, ARGV[3] PUBLISH or SPUBLISH, ARGV[4] channel
-- Returns 1 if the owner has the read hold now, 0 if it had no write hold.
if redis.call('hdel', KEYS[1], ARGV[2] .. ':write') == 0 then
	return redis.call('hexists', KEYS[1], ARGV[2])
end
redis.call('hset', KEYS[1], 'mode', 'read', ARGV[2], 1)
redis.call('set', KEYS[2], 1, 'px', ARGV[1])
redis.call('pexpire', KEYS[1], ARGV[1])
notify(ARGV[3], ARGV[4], '1')
return 1
