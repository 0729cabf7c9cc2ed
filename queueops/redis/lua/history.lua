#!lua flags=no-writes
-- history: rows of some series over a range of steps, and the newest marks of a range of time.
-- KEYS: 1 the pool's prefix
-- ARGV: 1 how many marks of each list ('0' = none), 2 from when, 3 until when; 4 how many runs of steps that follow each other;
--       of each run: level, first step, how many steps; then the series.
-- Reply: two lists. For each step with one of these rows: its position (the first step of the first run is 0), a row for each
--        series. Then marks and their times: of alarms, of starts, and the last start before the range.
-- Transitions: none.
--@needs starts tolerant_reads

lib.tolerate()
local runs, series, found, position = tonumber(ARGV[4]), {}, {}, 0
for i = 3 * runs + 5, #ARGV do series[#series + 1] = ARGV[i] end

local function is_known(rows)
  for i = 1, #series do
    if rows[i] then return true end
  end
  return false
end

for run = 0, runs - 1 do
  local level, first, count = ARGV[3 * run + 5], tonumber(ARGV[3 * run + 6]), tonumber(ARGV[3 * run + 7])
  for slot = first, first + count - 1 do
    local rows = call('HMGET', P .. ':history:' .. level .. ':' .. string.format('%.0f', slot), unpack(series))
    if is_known(rows) then found[#found + 1] = { position, rows } end
    position = position + 1
  end
end

local marks = {}
if ARGV[1] ~= '0' then
  marks[1] = call('ZREVRANGEBYSCORE', P .. ':marks:alarms', ARGV[3], ARGV[2], 'WITHSCORES', 'LIMIT', 0, ARGV[1])
  marks[2], marks[3] = lib.starts_between(ARGV[2], ARGV[3], ARGV[1])
end
return lib.told({ found, marks })
