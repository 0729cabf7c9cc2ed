-- Stand-ins: parts whose own id was in use when their composite was pushed. Field `hj` of a stand-in names that id. At its
-- turn it joins the task that has the id, or pushes that task anew, and ends as that task ends. With `hs` it is left out
-- instead while the id is in use. Field `hw` of the other task lists the stand-ins that wait for its end.
--@needs child_end conflicts end_effects lanes parent phases rules store_helpers task_end transitions

local LONGEST = 4000 -- of the list; a stand-in beyond it is found by the watchdog
-- Fields of a stand-in that the task which it pushes does not get.
local ITS_OWN = {
  [F.state] = true, [F.created] = true, [F.uid] = true, [F.pushed_uid] = true, [F.token] = true, [F.fence] = true,
  [F.follow_ups] = true, [F.attempt] = true, [F.begun] = true, [F.crashes] = true, [F.due] = true, [F.delay] = true,
  [F.ended] = true, [F.error] = true, [F.fingerprint] = true, [F.result] = true, [F.reason] = true, [F.parent_id] = true,
  [F.parent_uid] = true, [F.parent_pool] = true, [F.parent_round] = true, [F.top] = true, [F.root_pool] = true,
  [F.of_iterator] = true, [F.ignores_previous] = true, [F.successor] = true, [F.ahead_of_chain] = true, [F.joins] = true,
  [F.skips] = true, [F.again] = true, [F.turn_came] = true, [F.turn_previous] = true, [F.uncounted] = true, [F.counted] = true,
  [F.weight] = true, [F.planted_weight] = true, [F.has_more] = true, [F.waited_for] = true,
}

local function end_as(id, record, state, ended)
  lib.shift(id, record, state)
  record[F.state] = state
  lib.safe_call('HSET', lib.task_key(id), F.state, state, F.ended, NOW, F.result, ended[F.result] or '', F.reason, ended[F.reason] or '')
  if record[F.total] then lib.safe_call('HSET', lib.task_key(id), F.progress, record[F.total]) end
  if state == 'failed' then
    lib.family.keep_error(id, ended[F.error], ended[F.fingerprint])
    lib.list_failed(id, ended[F.fingerprint])
  end
  lib.schedule(id, now + (lib.number_of(record[F.keep]) or ctx.RULES['keep_' .. state]))
  lib.tell_end(id, record, state)
end

local function push_anew(id, record)
  local fields, values = { F.name, record[F.name] }, { [F.name] = record[F.name] }
  for field, value in pairs(record) do
    if field ~= F.name and not ITS_OWN[field] then
      fields[#fields + 1] = field; fields[#fields + 1] = value
      values[field] = value
    end
  end
  lib.flush(); lib.flush_lanes() -- the task of this id may have moved in this call
  return lib.place({ id = record[F.joins], policy = 'ignore', token = '', fields = fields, values = values })
end

-- Waits for the task that has the id. Called at the turn, and by the watchdog, which finds what no end has told of.
function lib.family.join(id, record)
  local target = record[F.joins]
  local _, state, list = lib.values_of(lib.task_key(target), F.state, F.joined_by)
  local waits = record[F.state] == 'idle'
  if not waits then
    lib.shift(id, record, 'idle')
    lib.safe_call('HSET', lib.task_key(id), F.state, 'idle', F.begun, NOW)
    record[F.state] = 'idle'
  end
  if waits and state and TERMINAL[state] then return end_as(id, record, state, lib.read_record(target)) end
  if record[F.skips] and state and not TERMINAL[state] then
    local parent = lib.safe_call('HGET', lib.task_key(record[F.parent_id]), F.kind)
    return end_as(id, record, 'succeeded', { [F.result] = parent == 'chain' and record[F.previous] })
  end
  if not state or TERMINAL[state] then
    if push_anew(id, record) == 'EXISTS' then -- it has ended, and its id is locked for a while
      return end_as(id, record, state, lib.read_record(target))
    end
    list = nil
  end
  local known = ' ' .. (list or '') .. ' '
  if string.find(known, ' ' .. id .. ' ', 1, true) or #known > LONGEST then return end
  lib.safe_call('HSET', lib.task_key(target), F.joined_by, list and list .. ' ' .. id or id, F.has_more, 1)
end

function lib.hooks.tree.end_stand_ins(id, list) ctx.ended_children[#ctx.ended_children + 1] = { joined_by = list, ref = id } end

-- The task that the stand-ins of a list wait for has ended.
function lib.family.end_stand_ins(list, target)
  local ended = lib.read_record(target)
  if not (ended and TERMINAL[ended[F.state]]) then return end -- it runs again: the watchdog finds them
  lib.safe_call('HDEL', lib.task_key(target), F.joined_by)
  for id in string.gmatch(list, '%S+') do
    local record = lib.read_record(id)
    if record and record[F.state] == 'idle' and record[F.joins] == target then end_as(id, record, ended[F.state], ended) end
  end
end
