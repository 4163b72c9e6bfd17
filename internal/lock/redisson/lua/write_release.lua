-- Let go of the write side and wake all who wait.
-- KEYS[1] the lock, KEYS[2] set while a Go writer waits
-- ARGV[1] owner:write, ARGV[2] PUBLISH or SPUBLISH, ARGV[3] channel
-- Returns 1 if let go, 0 if it was not the owner's.
if redis.call('hexists', KEYS[1], ARGV[1]) == 0 then
	return 0
end
redis.call('del', KEYS[1])
redis.call(ARGV[2], ARGV[3], '1')
return 1
