-- Figures of one lane, for the snapshot and for the page of the lane.
--@needs attempts lanes rate_limit store_helpers task_counts

-- The names of some of a lane's tasks, by count: estimates need the run times of what waits. The ranks are spread by the
-- golden ratio, so a repeated order of names gives no wrong share.
local GOLDEN = 0.6180339887
local function names_in(lane, ready, looks)
  local names = {}
  for i = 1, min(ready, looks) do
    local rank = ready <= looks and i - 1 or floor((i * GOLDEN) % 1 * ready)
    local id = call('ZRANGE', lib.lane_key(lane), rank, rank)[1]
    local name = id and redis.pcall('HGET', TASK .. id, 'n')
    if type(name) == 'string' then names[name] = (names[name] or 0) + 1 end
  end
  return names
end

-- `looks`: at how many of the lane's tasks to look at most, for their names. `title` is what a kind's lane stands for; `shut`
-- is the time until which a kind has shut it: an operator has not paused it then.
function lib.lane_figures(lane, looks)
  local conf = lib.lane_conf(lane)
  if conf.unreadable then call('HLEN', lib.lane_key(lane) .. '#conf') end -- the key is named
  local first = call('ZRANGE', lib.lane_key(lane), 0, 0)
  local entered = first[1] and call('ZSCORE', P .. ':state:pending', first[1])
  local ready = call('ZCARD', lib.lane_key(lane))
  return { lane = lane, ready = ready, names = names_in(lane, ready, looks), limit = conf.limit,
    paused = conf.paused and not conf.waits, shut = conf.waits and conf.shut or nil,
    title = lib.try('HGET', lib.lane_key(lane) .. '#conf', 'title') or nil,
    weight = conf.weight, rate = conf.rate, spent = conf.rate and lib.tokens_of(conf) == 0,
    active = lib.running_in(lane),
    oldest = lib.number_of(entered) }
end
