#!lua flags=no-writes
-- history: rows of some series over a range of steps.
-- KEYS: 1 the pool's prefix
-- ARGV: 1 how many runs of steps that follow each other; of each run: level, first step, how many steps; then the series.
-- Reply: for each step with one of these rows: its position (the first step of the first run is 0), a row for each series.
-- Transitions: none.
--@needs tolerant_reads

lib.tolerate()
local runs, series, found, position = tonumber(ARGV[1]), {}, {}, 0
for i = 3 * runs + 2, #ARGV do series[#series + 1] = ARGV[i] end

local function is_known(rows)
  for i = 1, #series do
    if rows[i] then return true end
  end
  return false
end

for run = 0, runs - 1 do
  local level, first, count = ARGV[3 * run + 2], tonumber(ARGV[3 * run + 3]), tonumber(ARGV[3 * run + 4])
  for slot = first, first + count - 1 do
    local rows = call('HMGET', P .. ':history:' .. level .. ':' .. string.format('%.0f', slot), unpack(series))
    if is_known(rows) then found[#found + 1] = { position, rows } end
    position = position + 1
  end
end
return lib.told(found)
