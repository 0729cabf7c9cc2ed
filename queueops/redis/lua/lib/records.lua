-- Creating and erasing records, with all their indexes.
--@needs expiry lanes limits minute_counts numbers store_helpers transitions

-- Puts a task into the indexes of its name, kind and tags. Plain tasks have no index of their kind.
function lib.index_record(id, name, tags, number, kind)
  lib.try('ZADD', P .. ':name:' .. name, number, id)
  if kind and kind ~= 'task' then lib.try('ZADD', P .. ':kind:' .. kind, number, id) end
  if not tags then return end
  for tag in string.gmatch(tags, '[^,]+') do
    lib.try('ZADD', P .. ':tag:' .. tag, number, id); lib.try('ZADD', P .. ':tags', NOW, tag)
  end
end

-- A task that was never claimed stores no creation time: it is the time of its entry into `pending`. Each script that moves
-- such a task out of `pending` calls this to store it.
local function keep_creation(id, record)
  if record[F.state] == 'pending' and not record[F.created] then
    call('HSET', lib.task_key(id), F.created, lib.try('ZSCORE', P .. ':state:pending', id) or NOW)
  end
end

-- Creates a task from a flat list of fields, and adds state, times and generation. `from` is the state of the task that
-- had the id before, if any.
function lib.create(id, fields, values, due, from)
  local number = lib.next_number()
  local state = due and 'postponed' or 'pending'
  if due then
    call('HSET', lib.task_key(id), F.state, state, F.created, NOW, F.uid, number, F.due, lib.text(due), unpack(fields))
  else
    call('HSET', lib.task_key(id), F.state, state, F.uid, number, unpack(fields))
  end
  lib.move(id, from or '', state, values[F.name], values[F.kind], values[F.lane])
  lib.index_record(id, values[F.name], values[F.tags], number, values[F.kind])
  if due then lib.try('ZADD', P .. ':lanes', 'NX', NOW, values[F.lane] or 'default') end -- it can be paused before it is used
  lib.watch_expiry(id, values[F.expires])
  if due then lib.schedule(id, due) else lib.enter_lane(values[F.lane] or 'default', id, values[F.priority], number, values) end
  return number
end

function lib.forget_error(id, record)
  if record[F.fingerprint] then lib.try('ZREM', P .. ':error:' .. record[F.fingerprint] .. SUBKEY.tasks, id) end
end

-- Takes a task out of its lane, or its worker.
function lib.leave_lane_or_lease(id, record)
  local lane, ready = record[F.lane] or 'default', record[F.state] == 'pending'
  if ready then lib.leave_lane(lane, id, record[F.name]) elseif LEASED[record[F.state]] then lib.free_slot(lane, id) end
  if ready or LEASED[record[F.state]] then lib.end_turn(id, record) end
end

-- Takes a record out of every index but that of its state.
function lib.unlist(id, record)
  lib.unschedule(id)
  lib.leave_lane_or_lease(id, record)
  lib.try('ZREM', P .. ':name:' .. record[F.name], id)
  if record[F.kind] then lib.try('ZREM', P .. ':kind:' .. record[F.kind], id) end
  if record[F.tags] then
    for tag in string.gmatch(record[F.tags], '[^,]+') do lib.safe_call('ZREM', P .. ':tag:' .. tag, id) end
  end
  lib.forget_error(id, record)
end

-- Takes a record out of every index, but leaves the record itself.
function lib.unindex(id, record)
  lib.move(id, record[F.state], '', record[F.name], record[F.kind], record[F.lane])
  lib.unlist(id, record)
end

local function beside(key, subkeys)
  local keys = {}
  for i, each in ipairs(subkeys) do keys[i] = key .. each end
  return keys
end

-- Deletes the key of a record, and its sub-keys. `may_have_more`: its kind has sub-keys, or is not known. The server frees
-- a long history or many children in the background.
function lib.delete_record(key, may_have_more)
  call('DEL', key, unpack(beside(key, ERASED)))
  if may_have_more then call('UNLINK', unpack(beside(key, SUBKEYS))) end
end

-- Moves the sub-keys of a record of this kind with it, to the trash and back. Nothing is left of an earlier one there.
function lib.carry_subkeys(key, other, kind)
  call('UNLINK', unpack(beside(other, CARRIED)))
  call('UNLINK', unpack(beside(other, SUBKEYS)))
  for _, subkeys in ipairs({ CARRIED, SUBKEYED[kind] and SUBKEYS or nil }) do
    for _, each in ipairs(subkeys) do if call('EXISTS', key .. each) == 1 then call('RENAME', key .. each, other .. each) end end
  end
end

-- Deletes a record and what belongs to it. Without `record`: it cannot be read, so it may be of any kind.
function lib.wipe(id, record)
  lib.delete_record(lib.task_key(id), not record or SUBKEYED[record[F.kind]])
  if not record then
    for _, each in pairs(lib.hooks.erase) do if each.abandon then each.abandon(id) end end
  elseif (lib.hooks.erase[record[F.kind]] or NONE).abandon then
    (lib.hooks.erase[record[F.kind]] or NONE).abandon(id, record)
  end
end

function lib.erase(id, record)
  lib.unindex(id, record)
  lib.wipe(id, record)
end

-- Finds the name of a task whose record cannot be read, among the names used last.
local function name_of(id)
  for _, name in ipairs(lib.safe_call('ZREVRANGE', P .. ':names', 0, 99)) do
    if lib.safe_call('ZSCORE', P .. ':name:' .. name, id) then return name end
  end
  return '?'
end

local function free_any_slot(id)
  for _, lane in ipairs(lib.safe_call('ZREVRANGE', P .. ':lanes', 0, 999)) do
    if lib.safe_call('SREM', lib.lane_key(lane) .. SUBKEY.active, id) == 1 then
      ctx.touched[lane] = true
    end
  end
end

-- Moves a task whose record cannot be read to quarantine, for an operator. A key that is not a record is not written to.
function lib.quarantine(id, state, record, reason)
  lib.move(id, state, 'quarantined', record and record[F.name] or name_of(id), record and record[F.kind], record and record[F.lane])
  lib.unschedule(id)
  if record then
    keep_creation(id, record)
    if LEASED[state] then lib.free_slot(record[F.lane] or 'default', id) end
    lib.end_turn(id, record)
    call('HSET', lib.task_key(id), F.state, 'quarantined', F.reason, reason)
  elseif LEASED[state] then
    free_any_slot(id)
  end
end

-- Removes a task whose record cannot be read from all indexes.
function lib.forget(id, state)
  local name = name_of(id)
  lib.move(id, state, '', name)
  lib.try('ZREM', P .. ':name:' .. name, id)
  for _, kind in ipairs(RECORD_KINDS) do lib.try('ZREM', P .. ':kind:' .. kind, id) end
  lib.unschedule(id)
  lib.wipe(id)
end

-- Removes a task from its lane, its slot and the agenda.
function lib.leave_place(id, record)
  keep_creation(id, record)
  lib.leave_lane_or_lease(id, record)
  lib.unschedule(id)
end
