-- Close a latch that is open.
-- KEYS[1] the counts that are missing
-- ARGV[1] PUBLISH or SPUBLISH, ARGV[2] channel, ARGV[3] how many
-- Returns 1 if closed, 0 if it was not open.
if not redis.call('set', KEYS[1], ARGV[3], 'nx') then
	return 0
end
redis.call(ARGV[1], ARGV[2], '1')
return 1
