-- List rows: the fields that a list shows of a task, and whether a task matches a filter. Large values are cut to keep a
-- page small.
--@needs filter_conditions store_helpers value_starts

local ROW_FIELDS = { 's', 'n', 'k', 'l', 'p', 'c', 'b', 'e', 'd', 'at', 'r', 'cr', 'w', 'pr', 'to', 'tg', 'y', 'ef', 'pi', 'lk', 'ck' }
local LONGEST = 4096

-- `fields` and `wanted` are lists of the same length. A text that is searched in arguments may be in the id as well. Also
-- returns the bytes of arguments that were read.
function lib.matches(id, fields, wanted)
  if #fields == 0 then return true, 0 end
  local first, second = unpack(fields)
  if first == '?' and not second then return lib.meets_text(id, unpack(wanted)) end
  local row, bytes = lib.fields_of(lib.task_key(id), unpack(fields)), 0
  if not row then return false, 0 end
  for i = 1, #fields do if fields[i] == 'a' then bytes = #(row[i] or '') end end
  for i = 1, #fields do
    if fields[i] == '?' then
      local meets, read = lib.meets_text(id, wanted[i])
      bytes = bytes + read
      if not meets then return false, bytes end
    end
    local in_id = fields[i] == 'a' and string.find(id, wanted[i], 1, true)
    if fields[i] ~= '?' and not in_id and not lib.fits(fields[i], row[i], wanted[i]) then return false, bytes end
  end
  return true, bytes
end

local function start_of(id, field)
  local _, value = lib.values_of(lib.task_key(id), field)
  return lib.start_of(value or '', LONGEST)
end

-- State of a task. If its record has no state, or a wrong one, the index that names the task decides.
local function state_of(id, state)
  local since = CLASS[state] and call('ZSCORE', P .. ':state:' .. state, id)
  if since then return state, since end
  for each in pairs(CLASS) do
    local entered = call('ZSCORE', P .. ':state:' .. each, id)
    if entered then return each, entered end
  end
  return state, false
end

-- What a list shows of a task. Without a state in its fields there is no such task.
function lib.shown_task(id)
  local fields = lib.named_fields(lib.task_key(id), unpack(ROW_FIELDS)) or {}
  local state, entered = state_of(id, fields[F.state])
  fields[F.state] = state
  fields[F.created] = fields[F.created] or entered -- a task that was never claimed has been in its state since it was created
  local length = redis.pcall('HSTRLEN', lib.task_key(id), F.args)
  return { fields = fields, entered = entered, length = type(length) == 'number' and length or 0,
    arguments = start_of(id, 'a'), error = start_of(id, 'er'), previous = start_of(id, 'pv') }
end

-- The same as values of a reply, in the order that `read_row` of `inspect/task_rows.py` reads.
function lib.shown_values(task)
  local values = {}
  for i, field in ipairs(ROW_FIELDS) do values[i] = task.fields[field] or false end
  return task.entered, task.length, values, task.arguments, task.error, task.previous or ''
end

function lib.row_of(id, score) return { id, score, lib.shown_values(lib.shown_task(id)) } end

-- The row of a task in a list: empty if there is no such task.
function lib.rows_of_one(id)
  local task = lib.shown_task(id)
  return task.fields.s and { { id, '', lib.shown_values(task) } } or {}
end
