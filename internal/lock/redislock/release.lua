-- Let go of a lock that is still ours, and wake those who wait for it.
-- KEYS[1] the lock and its channel; ARGV[1] our token, ARGV[2] PUBLISH or SPUBLISH
-- (ARGV[3] counts the attempts for the client.)
-- Returns 1 if let go, 0 if not ours.
if redis.call("GET", KEYS[1]) ~= ARGV[1] then
	return 0
end
redis.call("DEL", KEYS[1])
redis.call(ARGV[2], KEYS[1], "")
return 1
