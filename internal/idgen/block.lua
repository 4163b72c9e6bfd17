-- Reserves a block of sequence numbers of one UTC day.
-- KEYS[1] the day's hash: n = last number reserved, s = last second used
-- ARGV[1] size of the block   ARGV[2] first second of the day (Unix)   ARGV[3] the key's TTL in seconds
-- Returns {last number of the block, second of its ids (Unix)}
--         {0, second}   the second is in another day: call again for that day
--         {-1, second}  the day's 2^32 numbers are used up
local now, day = tonumber(redis.call('TIME')[1]), tonumber(ARGV[2])
local last = tonumber(redis.call('HGET', KEYS[1], 's') or nil)
local second
if last then
  second = math.max(now, last) -- the clock may have stepped back
else
  second = now + 1 -- ids of a lost counter have this second or an earlier one
end
if second < day or second >= day + 86400 then
  local today = now >= day and now < day + 86400
  return {0, today and second or now}
end
local n = tonumber(redis.call('HGET', KEYS[1], 'n') or 0) + tonumber(ARGV[1])
if n > 4294967295 then
  return {-1, second}
end
redis.call('HSET', KEYS[1], 'n', string.format('%.0f', n), 's', second)
redis.call('EXPIRE', KEYS[1], ARGV[3])
return {n, second}
