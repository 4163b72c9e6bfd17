-- Acquire the write lock of an RReadWriteLock. A second call by the same owner
-- changes only the ttl.
-- KEYS[1] the lock
-- ARGV[1] ttl in ms, ARGV[2] owner:write
-- Returns 0 if acquired, else minus the ms that others hold the lock if they do
-- not extend it (-1: not known).
local mode = redis.call('hget', KEYS[1], 'mode')
if mode == 'read' and longest_hold() == 0 then
	redis.call('del', KEYS[1])
	mode = false
end
if mode and redis.call('hexists', KEYS[1], ARGV[2]) == 0 then
	return -math.max(redis.call('pttl', KEYS[1]), 1)
end
redis.call('hset', KEYS[1], 'mode', 'write', ARGV[2], 1)
redis.call('pexpire', KEYS[1], ARGV[1])
return 0
