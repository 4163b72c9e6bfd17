-- Acquire an RFencedLock and issue its token. A second call by the same owner
-- returns the same token.
-- KEYS[1] the lock, KEYS[2] the last token
-- ARGV[1] ttl in ms, ARGV[2] owner
-- Returns the token if acquired, else minus the ms that another owner holds the
-- lock if it does not extend it (-1: not known).
local last = tonumber(redis.call('get', KEYS[2]) or 0)
if redis.call('hexists', KEYS[1], ARGV[2]) == 1 then
	redis.call('pexpire', KEYS[1], ARGV[1])
	return last
elseif redis.call('exists', KEYS[1]) == 1 then
	return -math.max(redis.call('pttl', KEYS[1]), 1)
elseif not (last and last >= 0 and last < 2^53) then -- beyond, Lua's numbers are not exact
	return redis.error_reply('ERR the last token is out of range')
end
redis.call('hset', KEYS[1], ARGV[2], 1)
redis.call('pexpire', KEYS[1], ARGV[1])
local token = redis.call('incr', KEYS[2])
local time = redis.call('time')
local now_us = time[1] * 1000000 + time[2] -- below 2^53 until the year 2255
if token < now_us then
	token = now_us
	redis.call('set', KEYS[2], string.format('%.0f', token), 'keepttl')
end
return token
