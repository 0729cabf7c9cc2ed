-- Trash: tasks that an operator deletes, and brings back.

-- It stays in the trash for `keep` ms.
local function throw_away(id, record, keep)
  unindex(id, record)
  flush()
  local key, trash = task_key(id), P .. ':trash:' .. id
  safe_call('RENAME', key, trash)
  if is_parent(record) then carry_children(key, trash) end
  if record.ch then safe_call('DEL', key .. '#chunks:by'); touched['#' .. id] = true end
  if safe_call('EXISTS', key .. '#log') == 1 then safe_call('RENAME', key .. '#log', trash .. '#log') end
  safe_call('ZADD', P .. ':trashed', now, id)
  schedule('~trash:' .. id, now + tonumber(keep))
  return ''
end

local function restore(id, record, token)
  if record and record.ot == token then return 'REPEAT', record.s end
  if record then return 'REFUSED', record.s, 'a task with this id exists' end
  local key, trash = task_key(id), P .. ':trash:' .. id
  local state = safe_call('HGET', trash, 's')
  if not state then return 'GONE', '' end
  if safe_call('ZSCORE', P .. ':state:quarantined', id) then forget(id, 'quarantined') end
  safe_call('RENAME', trash, key)
  if safe_call('EXISTS', trash .. '#log') == 1 then safe_call('RENAME', trash .. '#log', key .. '#log') end
  safe_call('ZREM', P .. ':trashed', id)
  safe_call('HSET', key, 'ot', token)
  local back = read_record(id)
  if is_parent(back) then carry_children(trash, key) end
  if safe_call('EXISTS', family.open_of(id)) == 1 then schedule('~cancel:' .. id, now) end
  move(id, '', state, back.n, back.k)
  index_record(id, back.n, back.tg, number_of(back.u) or 0)
  if back.ef and state == 'failed' then list_failed(id, back.ef) end
  unschedule('~trash:' .. id)
  schedule(id, now + (number_of(back.kp) or RULES['keep_' .. state]))
  return 'OK', state
end
