-- Figures of one lane, for the snapshot and for the page of the lane.
--@needs lanes rate_limit store_helpers task_counts

-- The names of some of a lane's tasks, by count, and their kinds: estimates need the run times of what waits, and alarms
-- whether workers take it. The ranks are spread by the golden ratio, so a repeated order of names gives no wrong share.
local GOLDEN = 0.6180339887
local function look_into(lane, ready, looks)
  local names, kinds = {}, {}
  for i = 1, min(ready, looks) do
    local rank = ready <= looks and i - 1 or floor((i * GOLDEN) % 1 * ready)
    local id = call('ZRANGE', lib.lane_key(lane), rank, rank)[1]
    local _, name, kind = lib.values_of(TASK .. (id or ''), 'n', 'k')
    if name then
      names[name] = (names[name] or 0) + 1
      kinds[kind or 'task'] = (kinds[kind or 'task'] or 0) + 1
    end
  end
  return names, kinds
end

-- `looks`: at how many of the lane's tasks to look at most, for their names and kinds. `title` is what a kind's lane stands
-- for, `said` what settings gave it last.
function lib.lane_figures(lane, looks)
  local conf = lib.lane_conf(lane)
  if conf.unreadable then call('HLEN', lib.lane_key(lane) .. SUBKEY.conf) end -- the key is named
  local first = call('ZRANGE', lib.lane_key(lane), 0, 0)
  local entered = first[1] and call('ZSCORE', P .. ':state:pending', first[1])
  local ready = call('ZCARD', lib.lane_key(lane))
  local names, kinds = look_into(lane, ready, looks)
  local _, title, limit, rate, weight =
    lib.values_of(lib.lane_key(lane) .. SUBKEY.conf, 'title', 'said:limit', 'said:rate', 'said:weight')
  return { lane = lane, ready = ready, names = names, kinds = kinds, limit = conf.limit,
    paused = conf.paused,
    title = title or nil,
    said = not lib.is_own_lane(lane) and { limit = limit or nil, rate = rate or nil, weight = weight or nil } or nil,
    weight = conf.weight, rate = conf.rate, spent = conf.rate and lib.tokens_of(conf) == 0,
    active = lib.running_in(lane),
    oldest = lib.number_of(entered) }
end
