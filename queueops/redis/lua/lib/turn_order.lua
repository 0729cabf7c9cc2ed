-- Order of turns: which task or lane of a key is the next one. Those in lanes that no live worker serves come after the others.
-- The tick of a watchdog notes these lanes (unserved_lanes.lua) in `unserved` of `P:clock`: the time, then each after a space.
--@needs minute_counts store_helpers

local LOOKED, NOTED_MS = 20, 10000 -- of a key at most so many are looked at; a note is used for so long
fresh.unserved = false -- the noted lanes, once they are read

-- The lanes that no live worker serves, as a set; nil in nearly all calls, for there is none.
function lib.unserved_lanes()
  if ctx.unserved == false then
    local at, lanes = string.match(lib.try('HGET', P .. ':clock', 'unserved') or '', '^(%d+)( .+)$')
    ctx.unserved = {}
    if at and now - tonumber(at) <= NOTED_MS then
      for lane in string.gmatch(lanes, '%S+') do ctx.unserved[lane] = true end
    end
  end
  return next(ctx.unserved) and ctx.unserved
end

-- The lane of a task; of the lane of its chunks, and of a second run, too.
local function lane_of(ref) return lib.try('HGET', TASK .. string.match(ref, '^#?([^#]*)'), F.lane) or 'default' end

-- What waits under a key: whether it still waits, and its record.
function lib.first_of_key(id)
  if lib.is_foreign(id) then return lib.hooks.parts.waits_for_turn(id) end
  local row = lib.named_fields(TASK .. id, F.state, F.lane, F.key_limit, F.key_rate) or {}
  return row[F.state] == 'pending', row
end

-- Those that may have the next turn of the key `key`, as ids with places: the first one that a live worker serves, then the
-- first one. Also whether a worker serves that.
function lib.next_of_key(key)
  local unserved = lib.unserved_lanes()
  local found = lib.try('ZRANGE', key .. SUBKEY.waiting, 0, unserved and LOOKED - 1 or 0, 'WITHSCORES') or {}
  local first = { found[1], found[2] }
  for i = 1, #found, 2 do
    if not (unserved and unserved[lane_of(found[i])]) then
      if i == 1 then return { first }, true end
      return { { found[i], found[i + 1] }, first }, true
    end
  end
  return { first }, false
end
