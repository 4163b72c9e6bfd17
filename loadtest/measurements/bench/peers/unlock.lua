-- Deletes the lock KEYS[1] if its value is still the owner ARGV[1].
if redis.call('GET', KEYS[1]) == ARGV[1] then
	return redis.call('DEL', KEYS[1])
end
return 0
