#!lua
-- displace: creates tasks whose ids are in use, after `enqueue` answered TAKEN. An ended task is run again as a new
-- generation. If the task has not ended, the conflict policy of the push decides.
-- KEYS: 1 the pool's prefix
-- ARGV: 1 number of tasks, negative if a running task pushes them; then for each: id, conflict policy, token, due, number
--       of field values, the fields of the record; at the end the lease of that running task: see `may_push`
-- Reply: for each task its word (OK REPEAT EXISTS REJECTED REPLACED AFTER) and its uid; or STALE: the lease is not current.
-- Transitions: push, postpone.
--@needs conflicts fence lanes transitions wakeup

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

local reply, specs = {}, {}
for i = 1, math.abs(total) do
  specs[i] = read_spec()
  local lane = specs[i].values.l or 'default'
  if not ctx.lane_confs[lane] then lib.need_lane(lane) end
  call('ZCARD', lib.lane_key(lane)) -- where a task can't be placed, nothing is written
end
lib.need_agenda(); call('ZCARD', P .. ':lanes:ready')
local placed = false
for _, spec in ipairs(specs) do
  local word, uid = lib.place(spec)
  placed = placed or word == 'OK' or word == 'REPLACED'
  reply[#reply + 1] = word; reply[#reply + 1] = uid
end
lib.flush()
lib.flush_lanes()
if placed then lib.wake(ctx.brought) end -- a push that changes nothing wakes no worker
return reply
