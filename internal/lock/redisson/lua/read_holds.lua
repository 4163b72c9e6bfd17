-- The readers of an RReadWriteLock that still live.
-- KEYS[1] the lock: a hash of mode -> read | write, reader -> holds,
-- writer:write -> holds. Each hold of a reader has a key that ends with it.

-- Redisson's rule for side keys: the name is their hash tag, unless it has one.
local tag = string.find(KEYS[1], '{', 1, true) and KEYS[1] or '{' .. KEYS[1] .. '}'

-- longest drops the readers whose holds have all ended, and returns the longest
-- time in ms that one of the others has left; 0 if there are none.
local function longest()
	local fields, most = redis.call('hgetall', KEYS[1]), 0
	for i = 1, #fields, 2 do
		if fields[i] ~= 'mode' then
			local left = 0
			for hold = 1, tonumber(fields[i + 1]) do
				left = math.max(left, redis.call('pttl', tag .. ':' .. fields[i] .. ':rwlock_timeout:' .. hold))
			end
			if left <= 0 then
				redis.call('hdel', KEYS[1], fields[i])
			end
			most = math.max(most, left)
		end
	end
	return most
end
