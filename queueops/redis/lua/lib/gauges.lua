-- Gauges: once a minute, what waits and what runs, for the history. They stand among the counters of the minute, as
-- `@g|<series>`: waiting, running, and the age of the oldest in ms, each '-' where it is not known.
--@needs history_counts minute_counts store_helpers task_counts

local MOST_NAMES = 100

local function note(fields, series, waiting, running, first)
  local age = first and lib.text(max(0, now - first)) or '-'
  local size = #fields
  fields[size + 1] = '@g|' .. series
  fields[size + 2] = (waiting and lib.text(waiting) or '-') .. ' ' .. (running and lib.text(running) or '-') .. ' ' .. age
end

-- Of the names that were pushed most recently: their tasks that are ready or leased.
local function note_names(fields)
  for _, name in ipairs(call('ZREVRANGE', P .. ':names', 0, MOST_NAMES - 1)) do
    local counts, running = lib.counted_of_name(name), 0
    for state, count in pairs(counts) do
      if LEASED[state] then running = running + count end
    end
    note(fields, 'n|' .. name, counts.pending, running, lib.oldest_of_name(name, counts))
  end
end

-- Writes them in the first call of a minute.
function lib.note_gauges(figures)
  if call('HEXISTS', ctx.metrics_key, '@g|p') == 1 then return end
  local fields, running = {}, 0
  for state, count in pairs(figures.states) do
    if LEASED[state] then running = running + count end
    if count > 0 then note(fields, 's|' .. state, count, nil, figures.oldest[state]) end
  end
  local parts = figures.parts or { ready = 0, active = 0 }
  note(fields, 'p', figures.states.pending + parts.ready, running + parts.active, figures.oldest.pending)
  for _, lane in ipairs(figures.lanes) do note(fields, 'l|' .. lane.lane, lane.ready, lane.active, lane.oldest) end
  note_names(fields)
  if lib.call_sliced('HSET', ctx.metrics_key, fields) then call('EXPIRE', ctx.metrics_key, '172800') end
  lib.note_counts()
end
