-- Functions for the read holds of an RReadWriteLock. They come before other
-- scripts.
-- KEYS[1] the lock: a hash of mode -> read | write, reader -> hold count,
-- writer:write -> hold count. Each hold of a reader is also a key of its own,
-- which expires with the hold.

-- Redisson's rule for side keys: the name is their hash tag, unless it has one.
local tag = string.find(KEYS[1], '{', 1, true) and KEYS[1] or '{' .. KEYS[1] .. '}'

-- longest_hold removes the readers whose holds have all expired. It returns
-- the longest ttl in ms of the other holds, or 0 if there are none.
local function longest_hold()
	local fields, longest = redis.call('hgetall', KEYS[1]), 0
	for i = 1, #fields, 2 do
		if fields[i] ~= 'mode' then
			local ttl, holds = 0, tonumber(fields[i + 1])
			if not (holds and holds <= 10000) then -- a longer loop would block Redis
				error('the hold count of a reader is out of range')
			end
			for hold = 1, holds do
				ttl = math.max(ttl, redis.call('pttl', tag .. ':' .. fields[i] .. ':rwlock_timeout:' .. hold))
			end
			if ttl <= 0 then
				redis.call('hdel', KEYS[1], fields[i])
			end
			longest = math.max(longest, ttl)
		end
	end
	return longest
end
