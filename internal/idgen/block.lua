-- Reserves a block of sequence numbers of one UTC day.
-- KEYS[1] the day's hash: n = last number reserved, s = last second used
-- ARGV[1] size of the block   ARGV[2] first second of the day (Unix)   ARGV[3] the key's TTL in seconds
-- Returns {last number of the block, second of its ids (Unix)}
--         {0, second}   the second is in another day: call again for that day

-- stored returns a field's number, or nil if there is none. What is no number,
-- or NaN, must not become part of an id.
local function stored(field)
  local text = redis.call('HGET', KEYS[1], field)
  local number = tonumber(text or 0)
  if not (number and number >= 0 and number <= 4294967295 and number == math.floor(number)) then
    error('the counter holds no whole number')
  end
  return text and number
end

local time = redis.call('TIME')
local now, day = tonumber(time[1]), tonumber(ARGV[2])
local n, last = stored('n'), stored('s')
local second = math.max(now, last or 0) -- the clock may have stepped back
if not (n and last and n + ARGV[1] <= 4294967295) then
  -- Ids of a counter that is lost, or whose numbers are used up, have this second or an earlier
  -- one. A block is a thousand numbers at most and takes more than a microsecond: a counter that
  -- begins later in a second begins above all numbers of one that was lost in it.
  n, second = 2147483648 + tonumber(time[2]) * 1000, second + 1
end
if second < day or second >= day + 86400 then
  local today = now >= day and now < day + 86400
  return {0, today and second or now}
end
n = n + ARGV[1]
redis.call('HSET', KEYS[1], 'n', string.format('%.0f', n), 's', second)
redis.call('EXPIRE', KEYS[1], ARGV[3])
return {n, second}
