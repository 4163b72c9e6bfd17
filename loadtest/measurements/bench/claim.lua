-- Script for wrk: each request claims for a different user.
-- args: file of headers, bytes per header, number of headers, threads, then the paths to POST to in rotation

local threads = {}

function setup(thread)
	thread:set("number", #threads)
	table.insert(threads, thread)
end

wraps = 0 -- how often this thread has started over with its first user

local file, width, first, usersPerThread, remaining
local prefixes, index = {}, 0

function init(args)
	width = tonumber(args[2])
	usersPerThread = math.floor(tonumber(args[3]) / tonumber(args[4]))
	first = number * usersPerThread * width
	for i = 5, #args do
		prefixes[#prefixes + 1] = "POST " .. args[i] .. " HTTP/1.1\r\nHost: bench\r\n"
	end
	file = assert(io.open(args[1], "rb"))
	file:setvbuf("full", 65536)
	file:seek("set", first)
	remaining = usersPerThread
end

function request()
	if remaining == 0 then
		file:seek("set", first)
		remaining, wraps = usersPerThread, wraps + 1
	end
	remaining = remaining - 1
	index = index % #prefixes + 1
	return prefixes[index] .. file:read(width) .. "Content-Length: 0\r\n\r\n"
end

function done(summary, latency, _)
	local most = 0
	for _, thread in ipairs(threads) do
		most = math.max(most, thread:get("wraps"))
	end
	local e = summary.errors
	io.write(string.format(
		'\n{"requests":%d,"refused":%d,"failed":%d,"wraps":%d,"duration_us":%d,"p50_us":%d,"p99_us":%d,"max_us":%d}\n',
		summary.requests, e.status, e.connect + e.read + e.write + e.timeout, most,
		summary.duration, latency:percentile(50), latency:percentile(99), latency.max))
end
