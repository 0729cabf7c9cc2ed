-- Paused names: an operator has paused all tasks of a name. A claim that meets such a task holds it back: the task leaves its
-- lane for the set of its name, with its place. So a pause is one call, whatever waits, and the lane goes on with others.
-- The field `paused` of the clock tells that any name is paused. Each claim reads the clock anyway.
--@needs clock_guard lanes minute_counts store_helpers transitions

local BRING_MOST, LOOK_MOST = 200, 100
lib.HOLD_MOST = 200 -- how many tasks a claim holds back before it returns
fresh.are_paused, fresh.held_back = TABLE, 0

local function held_key(name) return P .. ':paused:' .. name end

-- Whether the name is paused. It asks no command while no name is.
function lib.is_name_paused(name)
  if not ctx.any_paused then return false end
  local found = ctx.are_paused[name]
  if found == nil then
    found = lib.try('HEXISTS', P .. ':names:paused', name) == 1
    ctx.are_paused[name] = found
  end
  return found
end

-- Keeps a task that was taken from its lane, with its place there.
function lib.hold_back(id, score, name)
  ctx.held_back = ctx.held_back + 1
  if not lib.try('ZADD', held_key(name), score, id) then
    lib.try('ZADD', P .. ':agenda', lib.text(now + 1000), id) -- that key has a wrong type: it comes back to its lane later
  end
end

-- Holds back the tasks of paused names that are first in a lane now, so that a claim does not pop them one by one.
function lib.hold_back_next(lane)
  local entries = lib.try('ZRANGE', lib.lane_key(lane), 0, LOOK_MOST - 1, 'WITHSCORES') or {}
  for i = 1, #entries, 2 do
    local row = lib.named_fields(TASK .. entries[i], F.name, F.state)
    if not (row and row[F.name] and row[F.state] == 'pending' and lib.is_name_paused(row[F.name])) then return end
    lib.try('ZREM', lib.lane_key(lane), entries[i])
    lib.hold_back(entries[i], entries[i + 1], row[F.name])
  end
end

-- Brings some of the held tasks of a name back to their places in their lanes. Returns whether more are held.
function lib.bring_back(name)
  local entries, ids = lib.try('ZRANGE', held_key(name), 0, BRING_MOST - 1, 'WITHSCORES') or {}, {}
  for i = 1, #entries, 2 do
    local id = entries[i]
    local row = lib.named_fields(TASK .. id, F.state, F.lane)
    if row and row[F.state] == 'pending' then lib.append_scored(ctx.lane_entries, row[F.lane] or 'default', entries[i + 1], id) end
    ids[#ids + 1] = id
  end
  if ids[1] then lib.call_sliced('ZREM', held_key(name), ids) end
  return call('EXISTS', held_key(name)) == 1 and #ids > 0
end

-- The rest of the tasks of a name that was resumed, in parts.
function lib.hooks.due_entry.name(name)
  if lib.try('HEXISTS', P .. ':names:paused', name) == 1 then return end
  if lib.bring_back(name) then lib.schedule('~name:' .. name, now) end
end

-- Whether a ready task that is in no lane is where it should be: its name is paused, or its return is under way.
function lib.is_held(id, name)
  if not lib.safe_call('ZSCORE', held_key(name), id) then return false end
  return lib.safe_call('HEXISTS', P .. ':names:paused', name) == 1 or lib.safe_call('ZSCORE', P .. ':agenda', '~name:' .. name)
end

-- Removes a task from those that are held. Returns whether it was there.
function lib.let_go(id, name) return lib.try('ZREM', held_key(name), id) == 1 end

-- Writes to the clock whether any name is paused, unless the call has read that there already.
function lib.note_paused()
  local any = call('EXISTS', P .. ':names:paused') == 1
  if any == ctx.any_paused then return end
  if any then lib.try('HSET', P .. ':clock', 'paused', '1') else lib.try('HDEL', P .. ':clock', 'paused') end
  ctx.any_paused = any
end

-- The paused names for the snapshot: since when, how many of their tasks are held back, how many wait, and since when the
-- first that is held does.
function lib.paused_figures(most)
  local found = {}
  for i, name in ipairs(call('HKEYS', P .. ':names:paused')) do
    if i > most then break end
    local first = call('ZRANGE', held_key(name), 0, 0)[1]
    found[i] = { name = name, since = lib.number_of(call('HGET', P .. ':names:paused', name)),
      held = call('ZCARD', held_key(name)),
      waiting = max(0, lib.number_of(call('HGET', P .. ':counts', 'n|' .. name .. '|pending')) or 0),
      oldest = first and lib.number_of(call('ZSCORE', P .. ':state:pending', first)) }
  end
  return found
end
