-- Take the write side of an RReadWriteLock; a retry by the same owner takes
-- nothing twice.
-- KEYS[1] the lock, KEYS[2] set while a Go writer waits
-- ARGV[1] ttl in ms, ARGV[2] owner:write, ARGV[5] how long new Go readers are
-- to stay away in ms, if readers hold it now
-- Returns 0 if taken, -1 if held.
local mode = redis.call('hget', KEYS[1], 'mode')
if mode == 'read' and longest() == 0 then
	redis.call('del', KEYS[1])
	mode = false
end
if mode and redis.call('hexists', KEYS[1], ARGV[2]) == 0 then
	if mode == 'read' and tonumber(ARGV[5]) > 0 then
		redis.call('set', KEYS[2], 1, 'px', ARGV[5])
	end
	return -1
end
redis.call('hset', KEYS[1], 'mode', 'write', ARGV[2], 1)
redis.call('pexpire', KEYS[1], ARGV[1])
redis.call('del', KEYS[2])
return 0
