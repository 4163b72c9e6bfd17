-- Take a block of sequence numbers of one day.
-- KEYS[1] the day's hash: n = last number taken, s = last second stamped
-- ARGV[1] how many   ARGV[2] first second of that day (Unix)   ARGV[3] seconds to keep the key
-- returns {last number of the block, second to stamp it with (Unix)}
--         {0, second}   that second is in another day: ask again, for that day
--         {-1, second}  the day's 2^32 numbers are used up
local now, day = tonumber(redis.call('TIME')[1]), tonumber(ARGV[2])
local last = tonumber(redis.call('HGET', KEYS[1], 's') or nil)
local second
if last then
  second = math.max(now, last) -- the clock may have stepped back
else
  second = now + 1 -- what a lost counter gave out was stamped now or earlier
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
