-- Set the end of every lock that is still its owner's.
-- KEYS the keys of each lock, the lock itself first
-- ARGV[1] ttl in ms, ARGV[i+1] the owner of the i-th lock
-- Returns for each 1 if extended, 0 if not its owner's.
local width = #KEYS / (#ARGV - 1)
local extended = {}
for i = 2, #ARGV do
	local lock = KEYS[(i - 2) * width + 1]
	if redis.call('hexists', lock, ARGV[i]) == 1 then
		extended[i - 1] = redis.call('pexpire', lock, ARGV[1])
	else
		extended[i - 1] = 0
	end
end
return extended
