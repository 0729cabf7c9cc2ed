-- Own work: tasks that QueueOps pushes itself. Those that fail are figures of their pool, with the error of the last attempt.
-- They are found where the index of their kind meets that of a state. If both indexes are long, the newest ones are looked at.
--@needs store_helpers transitions

local LOOKED_AT, MOST, SHOWN_MS, LONG = 50, 3, 86400000, 1000
local LONGEST, LONGEST_SEALED = 500, 16384 -- an encrypted message opens only as a whole

local function error_of(row)
  local is_json, error = pcall(cjson.decode, row[F.error] or '')
  if not is_json or type(error) ~= 'table' or not error.type then return lib.shortened(row[F.reason] or '', LONGEST) end
  local message = tostring(error.message or '')
  local is_sealed = string.sub(message, 1, 9) == 'qe1:gAAAA'
  return lib.shortened(error.type .. ': ' .. message, is_sealed and LONGEST_SEALED or LONGEST)
end

-- Own work of a kind in a state, the newest first.
local function ids_in(state, kind)
  local of_kind, of_state = P .. ':kind:' .. kind, P .. ':state:' .. state
  local fewer = min(call('ZCARD', of_kind), call('ZCARD', of_state))
  if fewer == 0 then return {} end
  if fewer > LONG then return lib.safe_call('ZREVRANGE', of_kind, 0, LOOKED_AT - 1) end
  local found, newest = lib.safe_call('ZINTER', 2, of_kind, of_state), {}
  for i = #found, max(1, #found - LOOKED_AT + 1), -1 do newest[#newest + 1] = found[i] end
  return newest
end

-- Whether it waits for another attempt after one that failed. One that has failed for good counts for a day.
local function fails(row)
  if row[F.state] == 'failed' then return now - (lib.number_of(row[F.ended]) or 0) < SHOWN_MS end
  return row[F.state] == 'restart'
end

-- The first of those that fail, the newest first; nil if there are none.
function lib.failing_work()
  local found = {}
  for _, kind in ipairs(OWN_WORK) do
    for _, state in ipairs({ 'restart', 'failed' }) do
      for _, id in ipairs(ids_in(state, kind)) do
        local row = lib.named_fields(lib.task_key(id), F.state, F.name, F.error, F.ended, F.reason)
        if row and row[F.state] == state and fails(row) and #found < MOST then
          found[#found + 1] = { id = id, name = row[F.name] or kind, state = state, error = error_of(row) }
        end
      end
    end
  end
  return found[1] and found
end
