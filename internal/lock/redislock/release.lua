-- Release a lock if it has our token, and notify its waiters.
-- KEYS[1]  the lock, which is also its channel
-- ARGV[1]  our token
-- ARGV[2]  PUBLISH or SPUBLISH
-- ARGV[3]  counts the attempts, for the client only
-- Returns 1 if released, 2 if released and this user may not notify the waiters,
-- 0 if the lock does not have our token.
if redis.call("GET", KEYS[1]) ~= ARGV[1] then
	return 0
end
redis.call("DEL", KEYS[1])
return type(redis.pcall(ARGV[2], KEYS[1], "")) == "number" and 1 or 2
