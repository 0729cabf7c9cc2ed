-- Effects of an end outside the record of the task or chunk.
--@needs minute_counts records store_helpers transitions

-- Optional fields needed when a task succeeds: `MORE` has those of the kernel and of kinds. Flag `m` marks records that have
-- any of them. A script that leases a task, or writes such a field to a leased task, writes `m` too. It is LIGHT if only lane,
-- retention and waiting callers are among them: the fast paths know these.
lib.LIGHT = 'l'
lib.IS_LIGHT = { l = true, kp = true, wt = true }
lib.IS_MORE = {}
for i = 1, #MORE do lib.IS_MORE[MORE[i]] = true end

-- The flag of a record with one more of these fields, given the flag without it.
function lib.more_with(field, more) return more ~= '1' and lib.IS_LIGHT[field] and lib.LIGHT or '1' end

function lib.read_more(id, record)
  local found = lib.fields_of(lib.task_key(id), unpack(MORE)) or {}
  for i, field in ipairs(MORE) do record[field] = found[i] or nil end
end

function lib.note_error(id, record, end_)
  if end_.fingerprint == '' then return end
  local key = P .. ':error:' .. end_.fingerprint
  local _, first, muted = lib.values_of(key, 'first', 'muted')
  if not first then lib.safe_call('HSET', key, 'first', now) end
  lib.try('HINCRBY', key, 'count', 1)
  local name = record[F.name]
  if muted and (lib.number_of(muted) or 0) > now then
    lib.flag_muted(name)
  else
    lib.count_minute('loud|' .. name, 1)
    lib.count_field('@loud|' .. end_.fingerprint .. '|' .. name, 1)
  end
  lib.safe_call('HSET', key, 'last', now, 'sample', id, 'title', end_.title, 'name', name)
  call('EXPIRE', key, 2592000)
  lib.try('ZADD', P .. ':errors', now, end_.fingerprint)
end

-- Sets whether a cancelled task that runs is interrupted (`xh`) or only asked to stop. Callers keep the `xh` of an earlier
-- cancel, so a later cancel does not take it back.
function lib.harden(id, hard)
  if hard then call('HSET', lib.task_key(id), F.cancelled_hard, 1) else call('HDEL', lib.task_key(id), 'xh') end
end

function lib.list_failed(id, fingerprint)
  if not fingerprint or fingerprint == '' then return end
  local key = P .. ':error:' .. fingerprint .. SUBKEY.tasks
  lib.try('ZADD', key, now, id)
  call('EXPIRE', key, 2592000)
end

-- Lists a task that failed after too many crashes among the errors, as every failed task. Returns its fingerprint.
function lib.note_lost(id, record, reason)
  local fingerprint = string.sub(redis.sha1hex('lost ' .. record[F.name]), 1, 16)
  lib.note_error(id, record, { fingerprint = fingerprint, title = 'WorkerLost: ' .. reason })
  lib.forget_error(id, record)
  lib.list_failed(id, fingerprint)
  return fingerprint
end

-- Time since which no worker knows the task's name. It differs from the creation time if the task was postponed or
-- retried. A time before the creation is invalid.
function lib.unknown_since(record) return max(lib.number_of(record[F.unknown_since]) or now, lib.number_of(record[F.created]) or 0) end

-- Whether a crash counts against the task. If other tasks crashed with it, `delay` is minus the number of such crashes.
function lib.counts(end_) return (end_.delay or 0) >= 0 end

-- Delay in ms before a task or chunk whose worker crashed runs again. Tasks that crashed together restart apart. The
-- distance grows with each crash and the order changes, so that the task that kills its worker is found.
function lib.spread_out(number, crashes, end_)
  local factor = now % 80 * 10 + 107 -- it ends in 7: each number has a place of its own; not near 0 or 1000: neighbours part
  local place = number % 1000 * factor % 1000
  return floor((100 + place) * 2 ^ (min(6, max(crashes, -(end_.delay or 0) / 2)) - 1))
end
