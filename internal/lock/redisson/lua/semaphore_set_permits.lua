-- Create an RSemaphore.
-- KEYS[1] the number of free permits
-- ARGV[1] how many, ARGV[2] PUBLISH or SPUBLISH, ARGV[3] channel
-- Returns 1 if created, 0 if it existed.
if not redis.call('set', KEYS[1], ARGV[1], 'nx') then
	return 0
end
notify(ARGV[2], ARGV[3], ARGV[1])
return 1
