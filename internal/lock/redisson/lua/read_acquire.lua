-- Acquire the read lock of an RReadWriteLock. A second call by the same owner
-- changes only the ttl.
-- KEYS[1] the lock, KEYS[2] the hold
-- ARGV[1] ttl in ms, ARGV[2] owner
-- Returns 0 if acquired, else minus the ms that a writer holds the lock if it does
-- not extend it (-1: not known).
if redis.call('hexists', KEYS[1], ARGV[2]) == 0 and redis.call('hget', KEYS[1], 'mode') == 'write' then
	return -math.max(redis.call('pttl', KEYS[1]), 1)
end
redis.call('hset', KEYS[1], 'mode', 'read', ARGV[2], 1)
redis.call('set', KEYS[2], 1, 'px', ARGV[1])
redis.call('pexpire', KEYS[1], math.max(redis.call('pttl', KEYS[1]), ARGV[1]))
return 0
