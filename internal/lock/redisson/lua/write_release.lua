-- Release the write lock of an RReadWriteLock and notify all waiters.
-- KEYS[1] the lock
-- ARGV[1] owner:write, ARGV[2] PUBLISH or SPUBLISH, ARGV[3] channel
-- Returns 1 if released (2: without the message), 0 if the owner did not hold the lock.
if redis.call('hexists', KEYS[1], ARGV[1]) == 0 then
	return 0
end
redis.call('del', KEYS[1])
return notify(ARGV[2], ARGV[3], '1')
