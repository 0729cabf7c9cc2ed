-- What an end means beyond the record of the task or chunk.

-- What may have to be known of a task that ends well beside its state, fence and name. Most have none of it; the others have
-- `m`, too: a script that leases a task, or writes such a field to one that is leased, writes that.
local MORE = { 'k', 'l', 'kp', 'wt', 'nx', 'pi', 'ex', 'to' }

local function read_more(id, record)
  local found = fields_of(task_key(id), unpack(MORE)) or {}
  for i, field in ipairs(MORE) do record[field] = found[i] or nil end
end

local function note_error(id, record, end_)
  if end_.fingerprint == '' then return end
  local key = P .. ':error:' .. end_.fingerprint
  if call('EXISTS', key) == 0 then safe_call('HSET', key, 'title', end_.title, 'name', record.n, 'first', now) end
  try('HINCRBY', key, 'count', 1)
  safe_call('HSET', key, 'last', now, 'sample', id)
  call('EXPIRE', key, 2592000)
  try('ZADD', P .. ':errors', now, end_.fingerprint)
end

-- Whether what is cancelled, and runs, is not only asked to stop but interrupted (`xh`). Once it
-- is to be, another cancel does not take that back.
local function harden(id, hard)
  if hard then call('HSET', task_key(id), 'xh', 1) else call('HDEL', task_key(id), 'xh') end
end

-- A task that reduces, or did, is to map again, with the limits of the map.
local function back_to_map(id, record)
  local key = TASK .. id
  call('HDEL', key, 'ph', 'mr', 'mt', 'mb')
  for field, kept in pairs({ r = record.mr, t = record.mt, rp = record.mb }) do
    if kept == '' then call('HDEL', key, field) else call('HSET', key, field, kept) end
  end
end

local function list_failed(id, fingerprint)
  if not fingerprint or fingerprint == '' then return end
  local key = P .. ':error:' .. fingerprint .. '#tasks'
  try('ZADD', key, now, id)
  call('EXPIRE', key, 2592000)
end

-- A task that failed because it lost its worker too often is found among the errors, as all that failed; answers as which.
local function note_lost(id, record, reason)
  local fingerprint = string.sub(redis.sha1hex('lost ' .. record.n), 1, 16)
  note_error(id, record, { fingerprint = fingerprint, title = 'WorkerLost: ' .. reason })
  forget_error(id, record)
  list_failed(id, fingerprint)
  return fingerprint
end

-- Why a part that has ended is not run again by itself: its parent would not count its end. Nil when it may be.
local function refusal_of_part(record)
  if not (record.pi and TERMINAL[record.s]) then return nil end
  if record.pp then return not record.it and 'it is part of ' .. record.pi .. ' in the pool ' .. record.pp .. ': retry that' or nil end
  local row = fields_of(task_key(record.pi), 'u', 'k', 's')
  if not row or row[1] ~= record.pu or not (row[2] == 'chain' or row[2] == 'group') then return nil end
  if not TERMINAL[row[3]] then return 'it is part of ' .. record.pi .. ', which goes on without it: retry that when it has ended' end
  return 'it is part of ' .. record.pi .. ', which has ' .. (row[3] == 'cancelled' and 'been ' or '') .. row[3]
    .. ': retry that, and what did not succeed in it comes again'
end

-- Since when no worker knew the task's name. This is not the time of its creation: it may have been postponed or
-- retried. A time before its creation is garbage.
local function unknown_since(record) return max(number_of(record.uk) or now, number_of(record.c) or 0) end

-- Whether a crash counts against the task: if others died with it, its delay is minus how often that was so.
local function counts(end_) return (end_.delay or 0) >= 0 end

-- After how many ms a task or chunk is run again whose worker died. Those that died together come back apart. The
-- distance grows each time and the order changes, so that the task that kills its worker is found.
local function spread_out(number, crashes, end_)
  local factor = now % 80 * 10 + 107 -- it ends in 7: each number has a place of its own; not near 0 or 1000: neighbours part
  local place = number % 1000 * factor % 1000
  return floor((100 + place) * 2 ^ (min(6, max(crashes, -(end_.delay or 0) / 2)) - 1))
end
