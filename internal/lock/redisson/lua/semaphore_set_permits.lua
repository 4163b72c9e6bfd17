-- Create an RSemaphore.
-- KEYS[1] the number of free permits
-- ARGV[1] PUBLISH or SPUBLISH, ARGV[2] channel, ARGV[3] how many
-- Returns 1 if created, 0 if it existed.
if not redis.call('set', KEYS[1], ARGV[3], 'nx') then
	return 0
end
notify(ARGV[1], ARGV[2], ARGV[3])
return 1
