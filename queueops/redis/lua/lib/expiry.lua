-- Expiry: the moment by which a task must have begun. The agenda has an entry `~expiry:<id>` for it: see cancel.lua.
--@needs store_helpers transitions

-- The field is a time in epoch ms, or the ms from the creation of the task after a `+`. Nil for any other text.
function lib.expires_at(field, created)
  local number = field and tonumber(field)
  return number and (string.byte(field) == 43 and created + number or number) -- 43: +
end

-- A task is claimed. One that has begun before has no expiry any more.
function lib.begin_again(id, record)
  if record[F.begun] then call('HDEL', lib.task_key(id), F.expires) end
end

-- A task with an expiry was given back before it began. Its moment may have left the agenda during the lease.
function lib.unbegin(id, record)
  call('HDEL', lib.task_key(id), F.begun)
  local at = lib.expires_at(record[F.expires], lib.number_of(record[F.created]) or now)
  if at then lib.schedule('~expiry:' .. id, at) end
end

-- Puts a task that is created now on the agenda, if it has an expiry.
function lib.watch_expiry(id, field)
  local at = lib.expires_at(field, now)
  if at then lib.schedule('~expiry:' .. id, at) end
end
