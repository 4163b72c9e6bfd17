-- Let go of the read side; the last reader that lives also frees the lock of
-- the dead ones, and wakes who waits.
-- KEYS[1] the lock, KEYS[2] the end of this hold, KEYS[3] set while a Go writer waits
-- ARGV[1] owner, ARGV[2] PUBLISH or SPUBLISH, ARGV[3] channel
-- Returns 1 if let go, 0 if it was not the owner's.
local held = redis.call('hdel', KEYS[1], ARGV[1])
local lived = redis.call('del', KEYS[2])
if held == 0 then
	return 0
end
if redis.call('hget', KEYS[1], 'mode') == 'read' then
	local left = longest()
	if left > 0 then
		redis.call('pexpire', KEYS[1], left)
	else
		redis.call('del', KEYS[1])
		redis.call(ARGV[2], ARGV[3], '0')
	end
end
return lived
