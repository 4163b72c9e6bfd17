-- Let go of an RFairLock, or of our place in its queue, and wake the next.
-- KEYS as above
-- ARGV[1] owner, ARGV[2] PUBLISH or SPUBLISH, ARGV[3] channel without owner
-- Returns 1 if the lock was let go, 0 if it was not the owner's.
leave(ARGV[1])
local released = redis.call('hexists', KEYS[1], ARGV[1])
if released == 1 then
	redis.call('del', KEYS[1])
end
local first = head()
if first and redis.call('exists', KEYS[1]) == 0 then
	redis.call(ARGV[2], ARGV[3] .. ':' .. first, '0')
end
return released
