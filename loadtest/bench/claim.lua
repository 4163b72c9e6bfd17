-- wrk: every request claims for a user of its own.
-- args: the file of headers, bytes of each, how many, threads, then the paths to POST to in turn

local threads = {}

function setup(thread)
	thread:set("number", #threads)
	table.insert(threads, thread)
end

wrapped = 0 -- how often this thread has used all its users up

local file, width, first, share, left
local heads, turn = {}, 0

function init(args)
	width = tonumber(args[2])
	share = math.floor(tonumber(args[3]) / tonumber(args[4]))
	first = number * share * width
	for i = 5, #args do
		heads[#heads + 1] = "POST " .. args[i] .. " HTTP/1.1\r\nHost: bench\r\n"
	end
	file = assert(io.open(args[1], "rb"))
	file:setvbuf("full", 65536)
	file:seek("set", first)
	left = share
end

function request()
	if left == 0 then
		file:seek("set", first)
		left, wrapped = share, wrapped + 1
	end
	left = left - 1
	turn = turn % #heads + 1
	return heads[turn] .. file:read(width) .. "Content-Length: 0\r\n\r\n"
end

function done(summary, latency, _)
	local laps = 0
	for _, thread in ipairs(threads) do
		laps = math.max(laps, thread:get("wrapped"))
	end
	local e = summary.errors
	io.write(string.format(
		'\n{"requests":%d,"refused":%d,"broken":%d,"laps":%d,"duration_us":%d,"p50_us":%d,"p99_us":%d,"max_us":%d}\n',
		summary.requests, e.status, e.connect + e.read + e.write + e.timeout, laps,
		summary.duration, latency:percentile(50), latency:percentile(99), latency.max))
end
