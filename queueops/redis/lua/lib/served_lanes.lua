-- Served lanes: a worker that was given patterns takes tasks of matching lanes only, or leaves some lanes alone. It is
-- never listed as idle, because a wake-up token would reach it for a lane that it leaves: it looks by itself instead, each
-- LOOK_MS. So does a worker that was given kinds, more often: it is one part of a pair, which hand tasks to each other. Other
-- workers never come here.
--@needs lanes served_kinds

local LOOK_MS, LOOK_FOR_KINDS_MS, PAGE, MOST_SEEN = 250, 50, 1000, 20000
fresh.patterns = false -- of the worker whose call this is; false: it serves all lanes
fresh.closed = TABLE -- patterns of lanes that it leaves alone
fresh.met_lanes = TABLE -- lanes that the worker has met: where many are ready, it looks at these, and seldom at all

-- A pattern of lanes in Lua. All marks but `*` stand for themselves, also those of an invalid heartbeat.
function lib.lane_pattern(text)
  local escaped = string.gsub(text, '%p', '%%%0')
  return '^' .. string.gsub(escaped, '%%%*', '.*') .. '$'
end

-- `text` has the patterns of the worker, each after a space, its kinds (see `serve_kinds`), then the lanes that it has met,
-- each after ` !`. In a pattern `*` stands for any characters. One after a `^` is of lanes that the worker leaves alone; no
-- lane's name has that character. Returns after how many ms it looks again.
function lib.serve_only(text)
  ctx.patterns = {}
  for sign, each in string.gmatch(text, ' (%^?)([^ !~^][^ ]*)') do
    local known = sign == '' and ctx.patterns or ctx.closed
    known[#known + 1] = lib.lane_pattern(each)
  end
  for each in string.gmatch(text, ' !(%S+)') do ctx.met_lanes[#ctx.met_lanes + 1] = each end
  return lib.serve_kinds(text) and LOOK_FOR_KINDS_MS or LOOK_MS
end

-- Whether the worker serves a lane. That of one task alone is served with the lane of the task.
function lib.serves(lane)
  if lib.is_own_lane(lane) then lane = lib.lane_conf(lane).lane or 'default' end
  for _, each in ipairs(ctx.closed) do
    if string.find(lane, each) then return false end
  end
  for _, each in ipairs(ctx.patterns) do
    if string.find(lane, each) then return true end
  end
  return #ctx.patterns == 0
end

-- Those of these lanes that are in the round, each with its place, in the order of the round.
function lib.in_round(lanes)
  local found = {}
  for _, lane in ipairs(lanes) do
    local place = call('ZSCORE', P .. ':lanes:ready', lane)
    if place then found[#found + 1] = { lane = lane, place = tonumber(place) } end
  end
  table.sort(found, function(one, other) return one.place < other.place end)
  return found
end

-- The ready lanes that the worker serves.
function lib.served_lanes()
  if #ctx.met_lanes > 0 and call('ZCARD', P .. ':lanes:ready') > PAGE then return lib.in_round(ctx.met_lanes) end
  local found, seen = {}, 0
  while seen < MOST_SEEN do
    local page = call('ZRANGE', P .. ':lanes:ready', seen, seen + PAGE - 1)
    for _, lane in ipairs(page) do
      if lib.serves(lane) then found[#found + 1] = lane end
    end
    if #page < PAGE then break end
    seen = seen + PAGE
  end
  return lib.in_round(found)
end
