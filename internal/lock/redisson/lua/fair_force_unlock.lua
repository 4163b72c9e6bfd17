-- Delete an RFairLock without regard to its holder and notify the next waiter.
-- KEYS as in fair_queue.lua
-- ARGV[1] PUBLISH or SPUBLISH, ARGV[2] channel without owner
if redis.call('del', KEYS[1]) == 1 then
	local first = head()
	if first then
		notify(ARGV[1], ARGV[2] .. ':' .. first, '0')
	end
end
return 1
