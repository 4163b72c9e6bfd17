-- Add permits to an RSemaphore and notify its waiters.
-- KEYS[1] the number of free permits
-- ARGV[1] PUBLISH or SPUBLISH, ARGV[2] channel, ARGV[3] how many to add
notify(ARGV[1], ARGV[2], redis.call('incrby', KEYS[1], ARGV[3]))
return 1
