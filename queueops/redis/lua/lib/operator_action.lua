-- An operator's action on one task: compare and set.
--@needs operator_verbs records store_helpers transitions trash value_starts

local NUMERIC = { postpone = true, priority = true, keep = true }

-- A list of states, separated by commas, as a set.
function lib.states_in(text)
  local states = {}
  for state in string.gmatch(text, '[^,]+') do states[state] = true end
  return states
end

-- A task without a readable record.
local function act_on_lost(id, record, action)
  local aside = call('ZSCORE', P .. ':state:quarantined', id)
  if action.verb == 'discard' and aside then
    lib.forget(id, 'quarantined')
    return 'OK', ''
  end
  local state, token
  if action.verb == 'delete' then state, token = unpack(call('HMGET', P .. ':trash:' .. id, 's', 'ot')) end
  if state then return 'REPEAT', '', token ~= action.token and 'it is in the trash already' or '' end
  if aside then return 'REFUSED', 'quarantined', 'its record cannot be read: it can only be discarded' end
  if record then return 'REFUSED', '', 'its record has an unknown state, and it is about to be quarantined' end
  return 'GONE', ''
end

local CHANGED = 'an operator has acted on it meanwhile: look at it as it is now'

local function reason_against(record, action)
  local verb, refuse = action.verb, (lib.hooks.retry[record[F.kind]] or NONE).refuse_verb
  local reason = refuse and refuse(record, verb, action.value)
    or record[F.parent_id] and (verb == 'retry' or verb == 'reinstate') and lib.hooks.tree.refuse(record)
    or verb == 'reinstate' and lib.refusal_of_reinstate(record)
  if not reason and action.seen and action.seen ~= (record[F.operation] or '-') then return CHANGED end
  if not reason and NUMERIC[verb] and not lib.number_of(action.value) then return verb .. ' needs a number' end
  return reason
end

-- Why an action would not change a task, whose record was read; nil if it would. It writes nothing.
function lib.refusal_of(record, action)
  if not (record and CLASS[record[F.state]]) then return 'its record cannot be read' end
  if not action.allowed[record[F.state]] then return action.verb .. ' is not possible while it is ' .. record[F.state] end
  return reason_against(record, action) or nil
end

-- `action` has verb, token, value, second, who, and the states that allow the verb. `reason` is for the log, if there is one;
-- `seen`: the last action that the operator saw. A
-- caller that has read the record gives it. Returns a word (OK REPEAT REFUSED GONE), the state now, and a detail. A REPEAT
-- without a detail was done by an action of the same token.
function lib.act_on(id, action, given)
  local record, verb = given or lib.read_record(id), action.verb
  if verb == 'restore' then return lib.restore(id, record, action.token) end
  if not (record and CLASS[record[F.state]]) then return act_on_lost(id, record, action) end
  if record[F.operation] == action.token then return 'REPEAT', record[F.state] end
  local reason = lib.refusal_of(record, action)
  if reason then return 'REFUSED', record[F.state], reason end
  local state, detail = lib.operator_verbs[verb](id, record, action.value, action.second)
  if verb == 'delete' then call('HSET', P .. ':trash:' .. id, 'ot', action.token) end
  if state ~= '' then
    call('HSET', lib.task_key(id), F.operation, action.token)
    local reason = action.reason ~= '' and action.reason or nil
    lib.log_line(id, { k = 'operator', verb = verb, who = action.who, from = record[F.state], to = state,
      value = lib.start_of(action.value, 2000), text = reason })
  end
  return 'OK', state, detail
end
