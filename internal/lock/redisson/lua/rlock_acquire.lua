-- Acquire an RLock. A second call by the same owner changes only the ttl.
-- KEYS[1] the lock (hash of owner -> hold count)
-- ARGV[1] ttl in ms, ARGV[2] owner
-- Returns 0 if acquired, else minus the ms that another owner holds the lock if it
-- does not extend it (-1: not known).
if redis.call('exists', KEYS[1]) == 1 and redis.call('hexists', KEYS[1], ARGV[2]) == 0 then
	return -math.max(redis.call('pttl', KEYS[1]), 1)
end
redis.call('hset', KEYS[1], ARGV[2], 1)
redis.call('pexpire', KEYS[1], ARGV[1])
return 0
