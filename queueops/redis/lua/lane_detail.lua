#!lua flags=no-writes
-- lane_detail: one lane: its figures, the tasks at both ends of its queue, and those that hold its slots.
-- KEYS: 1 the pool's prefix
-- ARGV: 1 lane, 2 how many tasks of each end at most, 3 how many holders at most
-- Reply: '1' if the lane is known; its figures as in `sample.lua`, and `now` (JSON); rows of the first tasks, of the last
--        ones (the last first), and of the holders, each as in `page.lua` with an empty score.
-- Transitions: none.
--@needs lane_figures lanes list_row store_helpers tolerant_reads

lib.tolerate()
local lane, most, holders = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3])
local LOOKS, LEASED_LOOKS = 20, 300
local key = lib.lane_key(lane)
local known = call('ZSCORE', P .. ':lanes', lane) or call('EXISTS', key, key .. SUBKEY.conf) > 0
local figures = lib.lane_figures(lane, LOOKS)
figures.now = now

-- Its tasks that left it because their names are paused: the pending ones that it does not have. The default lane has no
-- counter: its tasks are the rest.
local function held_back()
  if call('EXISTS', P .. ':names:paused') == 0 then return 0 end
  local counted = lib.number_of(call('HGET', P .. ':counts', 's|' .. (lane == 'default' and '' or lane) .. '|pending') or 0) or 0
  return max(0, (lane == 'default' and call('ZCARD', P .. ':state:pending') - counted or counted) - figures.ready)
end
figures.held = held_back()

local function rows_of(ids)
  local rows = {}
  for _, id in ipairs(ids) do rows[#rows + 1] = lib.row_of(id, '') end
  return rows
end

-- A lane with a limit lists what holds its slots. Else the running tasks tell their lane; very many are not all looked at.
local function held()
  if figures.limit then return call('SRANDMEMBER', lib.active_key(lane), holders) end
  local ids = {}
  for state in pairs(LEASED) do
    for _, id in ipairs(call('ZRANGE', P .. ':state:' .. state, 0, LEASED_LOOKS - 1)) do
      if #ids < holders and not lib.is_foreign(id) and lib.lane_of_record(id) == lane then ids[#ids + 1] = id end
    end
  end
  return ids
end

local first, last = call('ZRANGE', key, 0, most - 1), {}
if figures.ready > #first then last = call('ZREVRANGE', key, 0, min(most, figures.ready - #first) - 1) end
return lib.told({ known and '1' or '', cjson.encode(figures), rows_of(first), rows_of(last), rows_of(held()) })
