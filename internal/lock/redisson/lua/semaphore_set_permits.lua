-- Make a semaphore.
-- KEYS[1] free permits; ARGV[1] how many, ARGV[2] PUBLISH or SPUBLISH, ARGV[3] channel
-- Returns 1 if made, 0 if it was there.
if not redis.call('set', KEYS[1], ARGV[1], 'nx') then
	return 0
end
redis.call(ARGV[2], ARGV[3], ARGV[1])
return 1
