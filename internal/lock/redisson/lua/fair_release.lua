-- Release an RFairLock, leave its queue, and notify the next waiter.
-- KEYS as in fair_queue.lua
-- ARGV[1] owner, ARGV[2] PUBLISH or SPUBLISH, ARGV[3] channel without owner
-- Returns 1 if released (2: without the message), 0 if the owner did not hold the lock.
dequeue(ARGV[1])
local released = redis.call('hexists', KEYS[1], ARGV[1])
if released == 1 then
	redis.call('del', KEYS[1])
end
local first = head()
if first and redis.call('exists', KEYS[1]) == 0 then
	return released * notify(ARGV[2], ARGV[3] .. ':' .. first, '0')
end
return released
