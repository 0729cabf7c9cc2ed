-- Follow-ups: tasks that the end of a task pushes, in the call that ends it. Field `fu` of a record holds them as JSON, a
-- list of { on = outcomes, pool, id ('' = made here), policy, due ('', '+ms', epoch ms), alone (gets no value), fields }.
-- Field `fm` names those that the last end pushed, `fd` counts those of it that could not be pushed. A follow-up's record has the
-- task that it follows: `oi` its id, `og` its generation, `op` its pool if that is another one, `oo` the outcome.
--@needs caller_news conflicts dead_follow_ups lanes outbox store_helpers transitions

-- What a follow-up gets as its first argument: the result, or how the task ended.
local function value_of(id, record, outcome)
  if outcome == 'success' then return record[F.result] or '' end
  local story = cjson.encode({ task = id, name = record[F.name], outcome = outcome, reason = record[F.reason] or '' })
  local error = record[F.error] and record[F.error] ~= '' and outcome ~= 'cancelled' and record[F.error] or 'null'
  return string.sub(story, 1, -2) .. ',"error":' .. error .. '}'
end

-- Whether what was read from a record is a follow-up.
local function is_whole(plan)
  if type(plan) ~= 'table' or type(plan.on) ~= 'table' or type(plan.fields) ~= 'table' then return false end
  for _, name in ipairs({ 'pool', 'id', 'policy', 'due' }) do if type(plan[name]) ~= 'string' then return false end end
  for _, value in ipairs(plan.fields) do if type(value) ~= 'string' then return false end end
  return plan.fields[1] == 'n' and #plan.fields % 2 == 0
end

local function is_for(plan, outcome)
  for _, each in ipairs(plan.on) do if each == outcome then return true end end
  return false
end

-- The push of a follow-up: its id, and what `place` needs.
local function spec_of(number, plan, id, record, outcome)
  local mark = string.sub(redis.sha1hex(P .. ' ' .. id .. ' ' .. (record[F.uid] or '') .. ' ' .. number), 1, 26)
  local fields, values = plan.fields, {}
  for i = 1, #fields, 2 do values[fields[i]] = fields[i + 1] end
  local function add(field, value)
    if value and value ~= '' and not values[field] then
      fields[#fields + 1] = field; fields[#fields + 1] = value
      values[field] = value
    end
  end
  add('oi', id); add('og', record[F.uid]); add('oo', outcome); add('ro', record[F.root] or id); add('me', record[F.meta])
  add('tr', record[F.trace])
  if plan.id ~= '' then add('tk', mark) end
  if not plan.alone then
    values[F.previous] = value_of(id, record, outcome)
    fields[#fields + 1] = 'pv'; fields[#fields + 1] = values[F.previous]
  end
  return { id = plan.id ~= '' and plan.id or mark, policy = plan.id ~= '' and plan.policy or 'new',
    token = plan.id ~= '' and mark or '', due = plan.due, fields = fields, values = values }
end

-- Pushes a follow-up in this pool. Returns why it could not, if so.
local function push(spec)
  if spec.due == '' then spec.due = nil
  elseif string.sub(spec.due, 1, 1) == '+' then spec.due = now + (tonumber(spec.due) or 0)
  else spec.due = tonumber(spec.due) end
  if spec.due and spec.due <= now then spec.due = nil end
  if call('EXISTS', lib.task_key(spec.id)) == 1 then -- that task may have moved in this call
    lib.flush(); lib.flush_lanes()
    ctx.unwritten = {}
  end
  local open_lane = (lib.hooks.claim[spec.values.k] or NONE).open_lane
  if open_lane then open_lane(spec.values) end
  local word = lib.place(spec)
  if word == 'REJECTED' then return 'its id ' .. spec.id .. ' is in use' end
  if word ~= 'EXISTS' then lib.tell_caller(spec.id, spec.values[F.kind], spec.values[F.name], 'pushed', spec.values[F.root]) end
end

function lib.follow_end(id, known, outcome)
  local record = known[F.follow_ups] and lib.read_record(id)
  if not (record and record[F.follow_ups]) then return end
  local uid, made, reasons = record[F.uid] or '', {}, {}
  local origin = record[F.pushed_uid] or uid
  if record[F.follow_ups_dead] then
    call('HDEL', lib.task_key(id), F.follow_ups_dead) -- of an earlier end
    if outcome ~= 'discarded' then lib.unlist_dead_follow_ups(id, origin) end
  end
  local function die(number, reason, plan, next_id)
    local dead = { id = id, uid = uid, origin = origin, number = number, name = record[F.name], outcome = outcome,
      next = plan and plan.fields[2], pool = plan and plan.pool, next_id = next_id }
    reasons[#reasons + 1] = lib.note_dead_follow_up(dead, reason)
  end
  local is_json, plans = pcall(cjson.decode, record[F.follow_ups])
  if not is_json or type(plans) ~= 'table' then
    die(0, 'field fu of its record is not JSON')
    return reasons[1]
  end
  local own = string.match(P, '^{[^:]*:(.*)}$') -- a namespace has no colon
  for number, plan in ipairs(plans) do
    if not is_whole(plan) then
      die(number, 'field fu of its record does not describe it')
    elseif is_for(plan, outcome) then
      local spec, reason = spec_of(number, plan, id, record, outcome), nil
      if plan.pool == own and spec.id == id then
        reason = 'it has the id of the task that it follows'
      elseif plan.pool == own then
        reason = push(spec)
      else
        lib.send('follow_up', plan.pool, spec.id, id, uid, 0, 'sp', cjson.encode({ policy = spec.policy, token = spec.token,
          due = spec.due, fields = spec.fields }), 'oo', outcome, 'tn', record[F.name] or '', 'uo', origin, 'fn', number,
          'nn', plan.fields[2])
      end
      if reason then die(number, reason, plan, spec.id)
      else made[#made + 1] = spec.id .. (plan.pool == own and '' or '#' .. plan.pool) end
    end
  end
  if made[1] then lib.safe_call('HSET', lib.task_key(id), F.follow_ups_pushed, table.concat(made, ' ')) end
  return reasons[1] and table.concat(reasons, '; ')
end

-- Pushes the follow-up of a task of another pool.
function lib.hooks.effect.follow_up(command)
  local is_json, spec = pcall(cjson.decode, command.sp or '')
  if not is_json or type(spec) ~= 'table' or type(spec.fields) ~= 'table' then return 'GONE' end
  spec.id, spec.values = command.i, {}
  spec.fields[#spec.fields + 1] = 'op'; spec.fields[#spec.fields + 1] = command.from
  for i = 1, #spec.fields, 2 do spec.values[spec.fields[i]] = spec.fields[i + 1] end
  local reason = push(spec)
  return reason and 'REFUSED' or 'OK', reason
end

function lib.follow_up_details(record, put)
  local states = {}
  for ref in string.gmatch(record[F.follow_ups_pushed] or '', '%S+') do
    local id, pool = lib.far(ref)
    local row = not pool and lib.named_fields(lib.task_key(ref), F.name, F.state) or {}
    for _, part in ipairs({ id or ref, pool or '', row[F.name] or '', row[F.state] or '' }) do states[#states + 1] = part end
  end
  if states[1] then put('follow_ups', states) end
end
