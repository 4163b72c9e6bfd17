-- Give permits back, or add some.
-- KEYS[1] free permits; ARGV[1] how many, ARGV[2] PUBLISH or SPUBLISH, ARGV[3] channel
redis.call(ARGV[2], ARGV[3], redis.call('incrby', KEYS[1], ARGV[1]))
return 1
