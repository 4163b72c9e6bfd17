-- Delete a lock without regard to its holder and notify its waiters.
-- KEYS[1] the lock
-- ARGV[1] PUBLISH or SPUBLISH, ARGV[2] channel, ARGV[3] message
if redis.call('del', KEYS[1]) == 1 then
	notify(ARGV[1], ARGV[2], ARGV[3])
end
return 1
