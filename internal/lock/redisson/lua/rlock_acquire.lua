-- Take an RLock; a retry by the same owner takes nothing twice.
-- KEYS[1] the lock (hash of owner -> holds)
-- ARGV[1] ttl in ms, ARGV[2] owner
-- Returns 0 if taken, -1 if held by another.
if redis.call('exists', KEYS[1]) == 1 and redis.call('hexists', KEYS[1], ARGV[2]) == 0 then
	return -1
end
redis.call('hset', KEYS[1], ARGV[2], 1)
redis.call('pexpire', KEYS[1], ARGV[1])
return 0
