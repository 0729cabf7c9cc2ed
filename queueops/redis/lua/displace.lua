#!lua
-- displace: creates tasks whose ids are in use, after `enqueue` answered TAKEN. An ended task is run again as a new
-- generation. If the task has not ended, the conflict policy of the push decides.
-- KEYS: 1 the pool's prefix
-- ARGV: 1 number of tasks, negative if a running task pushes them; then for each: id, conflict policy, token, due, number
--       of field values, the fields of the record; at the end the lease of that running task: see `may_push`
-- Reply: for each task its word (OK REPEAT EXISTS REJECTED REPLACED AFTER) and its uid; or STALE: the lease is not current.
-- Transitions: push, postpone.
--@needs attempts fence generations lanes records store_helpers transitions wakeup

local position, total = 2, tonumber(ARGV[1])
if total < 0 and not lib.may_push(ARGV[#ARGV - 1], ARGV[#ARGV]) then return { 'STALE' } end

local function read_spec()
  local spec = { id = ARGV[position], policy = ARGV[position + 1], token = ARGV[position + 2], values = {}, fields = {} }
  local due, count = ARGV[position + 3], tonumber(ARGV[position + 4])
  if due ~= '' then spec.due = string.sub(due, 1, 1) == '+' and now + tonumber(due) or tonumber(due) end
  if spec.due and spec.due <= now then spec.due = nil end
  position = position + 5
  for i = position, position + count - 1, 2 do
    spec.values[ARGV[i]] = ARGV[i + 1]
    spec.fields[#spec.fields + 1] = ARGV[i]; spec.fields[#spec.fields + 1] = ARGV[i + 1]
  end
  position = position + count
  return spec
end

local function stash_next(spec)
  local key = lib.task_key(spec.id) .. '#next'
  call('DEL', key)
  call('HSET', key, unpack(spec.fields))
  if spec.due then call('HSET', key, '#due', spec.due - now) end
  call('HSET', lib.task_key(spec.id), 'nx', 1, 'm', 1)
end

-- Decides what this push does to the task that has its id. Returns the word, and whether a task is created.
local function judge(spec, record)
  if record == nil then return 'OK', true end
  if record == false then return 'REJECTED', false end
  if spec.policy == 'new' or (spec.token ~= '' and record.tk == spec.token) then return 'REPEAT', false end
  if TERMINAL[record.s] then return 'OK', true end
  if spec.policy == 'reject' then return 'REJECTED', false end
  if spec.policy == 'run_after' then return 'AFTER', false end
  if record.pi then return 'EXISTS', false end -- its parent waits for this very one
  if REPLACEABLE[record.s] and (spec.policy == 'replace'
    or (spec.policy == 'replace_postponed' and record.s == 'postponed')) then return 'REPLACED', true end
  return 'EXISTS', false
end

local reply, pushed, created = {}, {}, {} -- created: ids whose moves are not written yet
local specs = {}
for i = 1, math.abs(total) do
  specs[i] = read_spec()
  local lane = specs[i].values.l or 'default'
  if not ctx.lane_confs[lane] then lib.need_lane(lane) end
  call('ZCARD', lib.lane_key(lane)) -- where a task can't be placed, nothing is written
end
lib.need_agenda(); call('ZCARD', P .. ':lanes:ready')
for _, spec in ipairs(specs) do
  local record = lib.read_record(spec.id)
  local word, wanted = judge(spec, record)
  local uid = record and (record.uo or record.u) or 0
  if wanted then
    if created[spec.id] then lib.flush(); lib.flush_lanes(); created = {} end
    if record then
      uid = lib.supersede(spec.id, record, spec.fields, spec.values, spec.due)
    else
      if call('ZSCORE', P .. ':state:quarantined', spec.id) then lib.forget(spec.id, 'quarantined') end
      uid = lib.create(spec.id, spec.fields, spec.values, spec.due)
    end
    created[spec.id] = true
    pushed[spec.values.n] = (pushed[spec.values.n] or 0) + 1
  elseif word == 'AFTER' then
    stash_next(spec)
  end
  reply[#reply + 1] = word; reply[#reply + 1] = uid
end
for name, count in pairs(pushed) do
  lib.try('ZADD', P .. ':names', NOW, name); lib.count_minute('in|' .. name, count)
end
lib.flush()
lib.flush_lanes()
lib.wake(ctx.brought)
return reply
