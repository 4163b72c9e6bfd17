-- Acquire permits of an RSemaphore if enough are free.
-- KEYS[1] the number of free permits
-- ARGV[3] how many to acquire
-- Returns 1 if acquired, 0 if not.
if tonumber(redis.call('get', KEYS[1]) or 0) < tonumber(ARGV[3]) then
	return 0
end
redis.call('decrby', KEYS[1], ARGV[3])
return 1
