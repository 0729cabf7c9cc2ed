-- Trash: tasks that an operator deletes, and brings back.
--@needs end_effects records rules store_helpers transitions

-- It stays in the trash for `keep` ms.
function lib.throw_away(id, record, keep)
  lib.unindex(id, record)
  lib.flush()
  local key, trash = lib.task_key(id), P .. ':trash:' .. id
  lib.safe_call('RENAME', key, trash)
  lib.carry_subkeys(key, trash, record[F.kind])
  local to_trash = (lib.hooks.erase[record[F.kind]] or NONE).to_trash
  if to_trash then to_trash(id, record) end
  lib.safe_call('ZADD', P .. ':trashed', now, id)
  lib.schedule('~trash:' .. id, now + tonumber(keep))
  return ''
end

function lib.restore(id, record, token)
  if record and record[F.operation] == token then return 'REPEAT', record[F.state] end
  if record then return 'REFUSED', record[F.state], 'a task with this id exists' end
  local key, trash = lib.task_key(id), P .. ':trash:' .. id
  local state = lib.safe_call('HGET', trash, 's')
  if not state then return 'GONE', '' end
  if lib.safe_call('ZSCORE', P .. ':state:quarantined', id) then lib.forget(id, 'quarantined') end
  lib.safe_call('RENAME', trash, key)
  lib.safe_call('ZREM', P .. ':trashed', id)
  lib.safe_call('HSET', key, 'ot', token)
  local back = lib.read_record(id)
  lib.carry_subkeys(trash, key, back[F.kind])
  local from_trash = (lib.hooks.erase[back[F.kind]] or NONE).from_trash
  if from_trash then from_trash(id) end
  lib.move(id, '', state, back[F.name], back[F.kind], back[F.lane])
  lib.index_record(id, back[F.name], back[F.tags], lib.number_of(back[F.uid]) or 0, back[F.kind])
  if back[F.fingerprint] and state == 'failed' then lib.list_failed(id, back[F.fingerprint]) end
  lib.unschedule('~trash:' .. id)
  lib.schedule(id, now + (lib.number_of(back[F.keep]) or ctx.RULES['keep_' .. state]))
  return 'OK', state
end
