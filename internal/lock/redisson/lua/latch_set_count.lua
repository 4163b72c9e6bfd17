-- Set the count of an RCountDownLatch that has none.
-- KEYS[1] the count
-- ARGV[1] PUBLISH or SPUBLISH, ARGV[2] channel, ARGV[3] the new count
-- Returns 1 if set, 0 if there was a count.
if not redis.call('set', KEYS[1], ARGV[3], 'nx') then
	return 0
end
notify(ARGV[1], ARGV[2], '1')
return 1
