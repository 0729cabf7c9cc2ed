#!lua flags=no-writes
-- job_lanes: lanes whose names begin with a text, those first that were used last, with their settings and figures.
-- KEYS: 1 the pool's prefix
-- ARGV: 1 beginning of the names, 2 and 3 time and name of the last lane of the page before ('' = first page), 4 rows,
--       5 one lane alone ('' = all)
-- Reply: the place where more lanes follow, empty at the end: time and name of the last lane that was looked at. A call looks
--        at 20,000 lanes at most, so a page may be short. Then for each lane: name, time of its last use, ready, its
--        settings (id, limit, rate, weight, paused, drain, proxy), time when its first ready task became ready, its circuits
--        (see circuits.lua), then state and count of its tasks.
-- Transitions: none.
--@needs circuits list_page tolerant_reads

lib.tolerate()

local SETTINGS = { 'title', 'limit', 'rate', 'weight', 'paused', 'drain', 'proxy' }
local PAGE, MOST_SEEN = 200, 20000
local start, time, last, most, only = ARGV[1], ARGV[2], ARGV[3], tonumber(ARGV[4]), ARGV[5]
local rows, place, circuits = {}, {}, lib.circuits.by_lane()

local function row_of(lane, used)
  local key = P .. ':lane:' .. lane
  local first = call('ZRANGE', key, 0, 0)[1]
  local settings = call('HMGET', key .. SUBKEY.conf, unpack(SETTINGS))
  local oldest = first and call('ZSCORE', P .. ':state:pending', first) or ''
  local row = { lane, used, call('ZCARD', key), settings, oldest, circuits[lane] or {} }
  local fields, names = {}, {}
  for state in pairs(CLASS) do names[#names + 1] = state; fields[#fields + 1] = 's|' .. lane .. '|' .. state end
  local counts = call('HMGET', P .. ':counts', unpack(fields))
  for i, name in ipairs(names) do
    if counts[i] and counts[i] ~= '0' then row[#row + 1] = name; row[#row + 1] = counts[i] end
  end
  return row
end

local function walk()
  local used, lane = time, last
  local rank = lib.rank_behind(P .. ':lanes', time, last)
  local behind = rank + MOST_SEEN
  while rank < behind do
    local found = call('ZREVRANGE', P .. ':lanes', rank, rank + PAGE - 1, 'WITHSCORES')
    for i = 1, #found, 2 do
      if string.sub(found[i], 1, #start) == start then
        if #rows == most then place = { used, lane }; return end
        rows[#rows + 1] = row_of(found[i], found[i + 1])
      end
      lane, used = found[i], found[i + 1]
    end
    if #found < PAGE * 2 then return end
    rank = rank + PAGE
  end
  place = { used, lane }
end

if only ~= '' then rows[1] = row_of(only, call('ZSCORE', P .. ':lanes', only) or '') else walk() end
return lib.told({ place, rows })
