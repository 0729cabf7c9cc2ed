-- Calls of runs: begins the activities and children of a step. One call of the store begins a slice of them. The others wait
-- in `#later`, a sorted set of plans (JSON) by the number of their command, and begin by the agenda.
--@needs conflicts lanes run_ends run_outgoing run_refused runs store_helpers transitions

local SLICE = 250

lib.run_calls = {}

function lib.run_calls.later_of(id) return lib.task_key(id) .. SUBKEY.later end
local later_of = lib.run_calls.later_of

-- What a text in `#later` says; nil if it cannot be read.
function lib.run_calls.plan_of(text)
  local is_json, plan = pcall(cjson.decode, text)
  return is_json and type(plan) == 'table' and type(plan.fields) == 'table' and plan or nil
end

-- The push of a call: fields of the new record, with those that it has of its run.
local function spec_of(id, record, plan)
  local spec = { id = plan.id, policy = 'replace', token = '', fields = plan.fields, values = {} }
  for i = 1, #plan.fields, 2 do spec.values[plan.fields[i]] = plan.fields[i + 1] end
  local function add(field, value)
    if value and value ~= '' and not spec.values[field] then
      spec.fields[#spec.fields + 1] = field; spec.fields[#spec.fields + 1] = value
      spec.values[field] = value
    end
  end
  add('vr', id); add('vn', plan.number); add('ro', record[F.root] or id); add('me', record[F.meta]); add('tr', record[F.trace])
  if plan.instance then add('vi', plan.instance) end
  if string.sub(plan.due, 1, 1) == '+' then spec.due = now + (tonumber(plan.due) or 0) else spec.due = tonumber(plan.due) end
  if spec.due and spec.due <= now then spec.due = nil end
  return spec
end

-- Ends a child that an earlier run of the same instance has given up: this run begins it again. Returns whether it did.
local function end_given_up(id, record, child)
  local found = lib.read_record(child)
  if not (found and found[F.given_up] and found[F.waiting_run]) or found[F.waiting_pool] or found[F.waiting_run] == id
    or found[F.on_parent_end] == 'abandon' then return false end
  if (lib.safe_call('HGET', lib.task_key(found[F.waiting_run]), F.instance) or found[F.waiting_run]) ~= (record[F.instance] or id) then
    return false
  end
  lib.flush(); lib.flush_lanes() -- it may have moved in this very call
  lib.end_run_now(child, found, 'the next run of its parent begins it again')
  return true
end

local function in_use(plan, why)
  return '{"e":"failed","c":' .. plan.number .. ',"at":' .. NOW .. ',"s":"in_use","y":' .. cjson.encode(why) .. '}'
end

-- Begins a call. Returns why it cannot begin.
local function start_call(id, record, plan)
  if plan.pool then return lib.far_calls.start(id, record, plan) end
  local before
  if plan.instance then
    local newest = lib.runs.newest_of(plan.instance)
    local other = newest ~= plan.id and lib.runs.read(newest)
    if other and not TERMINAL[other[F.state]] and not end_given_up(id, record, newest) then
      return 'its instance ' .. plan.instance .. ' has a run that has not ended: ' .. newest
    end
    before = other and newest
    lib.safe_call('HSET', P .. ':instances', plan.instance, plan.id)
  end
  lib.safe_call('HSET', lib.runs.calls_of(id), plan.number, (plan.child and 'c' or 'a') .. plan.id)
  local spec = spec_of(id, record, plan)
  if before then
    spec.values.vp = before
    spec.fields[#spec.fields + 1] = 'vp'; spec.fields[#spec.fields + 1] = before
  end
  lib.place(spec)
end

-- Begins a call of a run that ends.
local function start_alone(id, record, plan)
  plan.alone = lib.run_refused.goes_on(plan)
  local why = start_call(id, record, plan)
  if not (why and plan.alone) then return end
  lib.run_refused.keep(spec_of(id, record, plan), why)
  lib.run_refused.log(id, plan.id, why)
end

-- Begins the calls of a step: `plans` now, and `later` (number and plan as JSON) in slices. `over`: the run ends.
function lib.run_calls.start(id, record, plans, later, over)
  for _, plan in ipairs(plans) do
    local why
    if over then start_alone(id, record, plan) else why = start_call(id, record, plan) end
    if why then lib.safe_call('RPUSH', lib.runs.inbox_of(id), in_use(plan, why)) end
  end
  if not later[1] then return end
  local scored = {}
  for i, each in ipairs(later) do scored[2 * i - 1], scored[2 * i] = unpack(each) end
  lib.call_sliced('ZADD', later_of(id), scored)
  lib.schedule('~calls:' .. id, now)
end

-- Begins the first calls of those that wait, as many as asked for; with `wanted` only those whose numbers it has.
local function start_later(id, record, most, wanted)
  local key = later_of(id)
  for _, text in ipairs(lib.safe_call('ZRANGE', key, 0, most - 1)) do
    local plan = lib.run_calls.plan_of(text)
    local why = plan and (not wanted or wanted[plan.number]) and start_call(id, record, plan)
    if why then lib.runs.deliver(id, in_use(plan, why)) end
  end
  lib.safe_call('ZREMRANGEBYRANK', key, 0, most - 1)
  lib.flush(); lib.flush_lanes()
end

-- Begins the calls that wait and are open in the history that a reset keeps. The others are not needed any more.
function lib.run_calls.start_open(id, record, open)
  if call('EXISTS', later_of(id)) == 0 then return end
  lib.unschedule('~calls:' .. id)
  start_later(id, record, 1e6, open)
end

-- Numbers of the calls that wait, which begin by the agenda; nil if there are none.
function lib.run_calls.resume_later(id)
  local rows = lib.safe_call('ZRANGE', later_of(id), 0, -1, 'WITHSCORES')
  if not rows[1] then return nil end
  local numbers = {}
  for i = 2, #rows, 2 do numbers[lib.text(tonumber(rows[i]) or 0)] = true end
  lib.schedule('~calls:' .. id, now)
  return numbers
end

-- Whether a call waits to begin.
function lib.run_calls.waits(id, number) return lib.safe_call('ZCOUNT', later_of(id), number, number) > 0 end

-- Begins the children that wait, and that go on without their run, which ends.
function lib.run_calls.start_abandoned(id, record)
  local key = later_of(id)
  for _, text in ipairs(lib.safe_call('ZRANGE', key, 0, -1)) do
    local plan = lib.run_calls.plan_of(text)
    if plan and lib.run_refused.goes_on(plan) then
      start_alone(id, record, plan)
      lib.safe_call('ZREM', key, text)
    end
  end
end

-- Withdraws a call that has not begun.
function lib.run_calls.drop(id, number)
  lib.safe_call('ZREMRANGEBYSCORE', later_of(id), number, number)
end

-- A run that has ended keeps what waits, for a retry or a reset.
function lib.hooks.due_entry.calls(id)
  local record = lib.read_record(id)
  if not record or record[F.kind] ~= 'workflow' or TERMINAL[record[F.state]] then return end
  start_later(id, record, SLICE)
  if lib.safe_call('EXISTS', later_of(id)) == 1 then lib.schedule('~calls:' .. id, now) end
end
