-- notify sends a message to waiters. It returns 1, or 2 if this user may not: what
-- notifies must not fail for it. It comes before other scripts.
local function notify(command, channel, message)
	return type(redis.pcall(command, channel, message)) == 'number' and 1 or 2
end
