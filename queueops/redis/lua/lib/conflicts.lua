-- Conflicts of ids: what a push does whose id is in use. An ended task is run again as a new generation. If the task has
-- not ended, the conflict policy of the push decides.
--@needs claim_on_settle expiry generations lanes minute_counts records store_helpers transitions

-- Keeps the push until the end of the task that has its id.
local function stash_next(spec)
  local key = lib.task_key(spec.id) .. SUBKEY.next
  call('DEL', key)
  call('HSET', key, unpack(spec.fields))
  local expires = lib.expires_at(spec.values[F.expires], now) -- from this push on, not from the next generation
  if expires then call('HSET', key, F.expires, lib.text(expires)) end
  if spec.due then call('HSET', key, '#due', spec.due - now) end
  call('HSET', lib.task_key(spec.id), F.next, 1, F.has_more, 1)
end

-- Decides what this push does to the task that has its id. Returns the word, and whether a task is created.
local function judge(spec, record)
  if record == nil then return 'OK', true end
  if record == false then return 'REJECTED', false end
  if spec.policy == 'new' or (spec.token ~= '' and record[F.token] == spec.token) then return 'REPEAT', false end
  if TERMINAL[record[F.state]] then
    if (lib.number_of(record[F.created]) or 0) + (lib.number_of(record[F.unique_for]) or 0) > now then return 'EXISTS', false end
    return 'OK', true
  end
  if spec.policy == 'reject' then return 'REJECTED', false end
  if spec.policy == 'run_after' then return 'AFTER', false end
  if record[F.parent_id] then return 'EXISTS', false end -- its parent waits for this very one
  if spec.policy == 'debounce' then
    if record[F.state] == 'postponed' or record[F.state] == 'pending' then return 'REPLACED', true end
    return 'AFTER', false
  end
  if REPLACEABLE[record[F.state]] and (spec.policy == 'replace'
    or (spec.policy == 'replace_postponed' and record[F.state] == 'postponed')) then return 'REPLACED', true end
  return 'EXISTS', false
end

-- Ids that have moved in this call, and whose moves are not written yet. It moves each at most once between two writes.
fresh.unwritten = TABLE

-- Places a push: its id, conflict policy, token, due time if any, fields as a list and as a table. Returns the word (OK
-- REPEAT EXISTS REJECTED REPLACED AFTER), and the uid of the task that has the id.
function lib.place(spec)
  local record = lib.read_record(spec.id)
  local word, wanted = judge(spec, record)
  local uid = record and (record[F.pushed_uid] or record[F.uid]) or 0
  if wanted then
    if ctx.unwritten[spec.id] then lib.flush(); lib.flush_lanes(); ctx.unwritten = {} end
    if record then
      uid = lib.supersede(spec.id, record, spec.fields, spec.values, spec.due)
    else
      if call('ZSCORE', P .. ':state:quarantined', spec.id) then lib.forget(spec.id, 'quarantined') end
      local takes = ctx.at_once.room > 0 and not spec.due
      uid = takes and lib.create_at_once(spec.id, spec.fields, spec.values) or lib.create(spec.id, spec.fields, spec.values, spec.due)
    end
    ctx.unwritten[spec.id] = true
    if lib.count_minute('in|' .. spec.values.n, 1) then lib.try('ZADD', P .. ':names', NOW, spec.values.n) end
  elseif word == 'AFTER' then
    stash_next(spec)
  end
  return word, uid
end
