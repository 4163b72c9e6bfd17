-- Subtract from the count of an RCountDownLatch. At zero, delete the latch and notify
-- its waiters.
-- KEYS[1] the count
-- ARGV[1] PUBLISH or SPUBLISH, ARGV[2] channel, ARGV[3] how much
local count = redis.call('decrby', KEYS[1], ARGV[3])
if count <= 0 then
	redis.call('del', KEYS[1])
end
if count == 0 then
	notify(ARGV[1], ARGV[2], '0')
end
return 1
