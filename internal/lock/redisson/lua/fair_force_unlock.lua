-- Take an RFairLock from whoever holds it and wake the next in its queue.
-- KEYS as above; ARGV[1] PUBLISH or SPUBLISH, ARGV[2] channel without owner
if redis.call('del', KEYS[1]) == 1 then
	local first = head()
	if first then
		redis.call(ARGV[1], ARGV[2] .. ':' .. first, '0')
	end
end
return 1
