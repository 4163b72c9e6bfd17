-- Take locks and let go of locks, one after the other.
-- KEYS the locks; ARGV[1] PUBLISH or SPUBLISH, (ARGV[2] counts the attempts for the client,)
-- ARGV[2i+1] the token of KEYS[i], ARGV[2i+2] its ttl in ms to take it, 0 to let go
-- Returns a character for each: 1 if it was done; 0 if the lock is another's, or
-- there was none to let go of; x if the key is something else than a lock.
local call, try, answers = redis.call, redis.pcall, {}
for i = 1, #KEYS do
	local key, token, ttl = KEYS[i], ARGV[2 * i + 1], ARGV[2 * i + 2]
	local holder, done
	if ttl == "0" then
		holder = try("GET", key)
		done = holder == token
		if done then
			call("DEL", key)
			call(ARGV[1], key, "")
		end
	else
		holder = try("SET", key, token, "NX", "GET", "PX", ttl)
		done = not holder or holder == token -- ours already: a retry
	end
	if done then
		answers[i] = "1"
	elseif type(holder) ~= "table" then
		answers[i] = "0"
	elseif string.find(holder.err, "WRONGTYPE", 1, true) then
		answers[i] = "x" -- its own fault, and nobody else's
	else
		return holder
	end
end
return table.concat(answers)
