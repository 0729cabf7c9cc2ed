-- Order of turns: which task or lane of a key is the next one. Those in lanes that no live worker serves come after the others.
-- The tick of a watchdog notes these lanes (unserved_lanes.lua) in `unserved` of `P:clock`: the time, then each after a space.
--@needs minute_counts

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

-- The next one that waits for a turn of the key `key`, its place, and whether a live worker serves it.
function lib.next_of_key(key)
  local unserved = lib.unserved_lanes()
  local found = lib.try('ZRANGE', key .. SUBKEY.waiting, 0, unserved and LOOKED - 1 or 0, 'WITHSCORES') or {}
  for i = 1, #found, 2 do
    if not (unserved and unserved[lane_of(found[i])]) then return found[i], found[i + 1], true end
  end
  return found[1], found[2], false
end
