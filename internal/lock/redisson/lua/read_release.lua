-- Release a read hold. If every other hold has expired, delete the lock and
-- notify its waiters.
-- KEYS[1] the lock, KEYS[2] the hold
-- ARGV[1] owner, ARGV[2] PUBLISH or SPUBLISH, ARGV[3] channel
-- Returns 1 if released (2: without the message), 0 if the owner had no hold.
local was_reader = redis.call('hdel', KEYS[1], ARGV[1])
local released = redis.call('del', KEYS[2])
if was_reader == 0 then
	return 0
end
if redis.call('hget', KEYS[1], 'mode') == 'read' then
	local ttl = longest_hold()
	if ttl > 0 then
		redis.call('pexpire', KEYS[1], ttl)
	else
		redis.call('del', KEYS[1])
		return released * notify(ARGV[2], ARGV[3], '0')
	end
end
return released
