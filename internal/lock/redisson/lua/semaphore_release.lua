-- Add permits to an RSemaphore and notify its waiters.
-- KEYS[1] the number of free permits
-- ARGV[1] how many to add, ARGV[2] PUBLISH or SPUBLISH, ARGV[3] channel
notify(ARGV[2], ARGV[3], redis.call('incrby', KEYS[1], ARGV[1]))
return 1
