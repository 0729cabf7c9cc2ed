-- Own work: tasks that QueueOps pushes itself. Those that fail are figures of their pool, with the error of the last attempt.
--@needs store_helpers transitions

local LOOKED_AT, MOST, SHOWN_MS = 50, 3, 86400000

local function error_of(row)
  local is_json, error = pcall(cjson.decode, row.er or '')
  if not is_json or type(error) ~= 'table' or not error.type then return row.y or '' end
  return error.type .. ': ' .. tostring(error.message or '')
end

-- Whether it waits for another attempt after one that failed. One that has failed for good counts for a day.
local function fails(row)
  if row.s == 'failed' then return now - (lib.number_of(row.e) or 0) < SHOWN_MS end
  return row.s == 'restart'
end

-- The first of those that fail, the newest first; nil if there are none.
function lib.failing_work()
  local found = {}
  for _, kind in ipairs(OWN_WORK) do
    for _, id in ipairs(lib.safe_call('ZREVRANGE', P .. ':kind:' .. kind, 0, LOOKED_AT - 1)) do
      local row = lib.named_fields(lib.task_key(id), 's', 'n', 'er', 'e', 'y')
      if row and fails(row) and #found < MOST then
        found[#found + 1] = { id = id, name = row.n or kind, state = row.s, error = lib.shortened(error_of(row), 500) }
      end
    end
  end
  return found[1] and found
end
