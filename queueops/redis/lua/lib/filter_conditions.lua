-- Conditions of a filter that no index has, checked for one task. `inspect/filter_fields.py` writes them as JSON: lists of
-- an operator and its operands. In a list of wanted fields such a condition stands under the name '?'.
--@needs store_helpers

local DEFAULTS = { k = 'task', l = 'default', p = '0', at = '0', cr = '0' }
local WORDS_IN = { 'n', 'tg', 'l', 'w' }

fresh.conditions = TABLE

-- Whether a state is among those of a filter: one, several with commas between them, or `finished`.
function lib.is_among(state, wanted)
  if state == wanted then return true end
  return wanted == 'finished' and CLASS[state] == 'terminal' or string.find(',' .. wanted .. ',', ',' .. state .. ',', 1, true) ~= nil
end

-- Whether the value of a record's field is the one that a filter wants.
function lib.fits(field, value, wanted)
  value = value or DEFAULTS[field] or ''
  if field == 's' then return lib.is_among(value, wanted) end
  if field == 'a' then return string.find(value, wanted, 1, true) ~= nil end
  if field ~= 'tg' then return value == wanted end
  return string.find(',' .. value .. ',', ',' .. wanted .. ',', 1, true) ~= nil
end

local function value_of(task, field)
  if field == 'id' then return task.id end
  return task.record[field] or DEFAULTS[field] or ''
end

-- The type and the message of a stored error: small letters, as they stand in its JSON.
local function error_of(task, types_only)
  local text = task.record[F.error] or ''
  local begin = string.find(text, '"type":', 1, true)
  local stop = string.find(text, types_only and '"message":' or '"traceback":', 1, true)
  return string.lower(string.sub(text, begin or 1, stop or 4096))
end

-- Whether a value has the parts between the stars of a pattern, in this order.
local function is_like(value, parts)
  if #parts == 1 then return value == parts[1] end
  local first, last = parts[1], parts[#parts]
  if string.sub(value, 1, #first) ~= first then return false end
  local at = #first + 1
  for i = 2, #parts - 1 do
    local begin, stop = string.find(value, parts[i], at, true)
    if not begin then return false end
    at = stop + 1
  end
  return #value - at + 1 >= #last and string.sub(value, #value - #last + 1) == last
end

-- A task that was never claimed has been in its state since it was created.
local function created_of(task)
  return lib.number_of(task.record[F.created]) or lib.number_of(call('ZSCORE', P .. ':state:' .. (task.record[F.state] or ''), task.id))
end

local function number_of(task, field)
  if field == F.created then return created_of(task) end
  local record = task.record
  local begun, ended = lib.number_of(record[F.begun]), lib.number_of(record[F.ended])
  if field == 'age' or field == 'waited' then
    local created = created_of(task)
    return created and (field == 'waited' and (begun or ended) or now) - created
  end
  if field ~= 'ran' then return lib.number_of(value_of(task, field)) end
  if not begun then return nil end
  if ended and ended >= begun then return ended - begun end
  return LEASED[record[F.state]] and now - begun or nil
end

local CHECKS = {}

CHECKS['and'] = function(task, condition)
  for i = 2, #condition do if not lib.meets(task, condition[i]) then return false end end
  return true
end

CHECKS['or'] = function(task, condition)
  for i = 2, #condition do if lib.meets(task, condition[i]) then return true end end
  return false
end

CHECKS['not'] = function(task, condition) return not lib.meets(task, condition[2]) end

function CHECKS.is(task, condition)
  local field, wanted = condition[2], condition[3]
  return lib.fits(field, value_of(task, field), wanted)
end

function CHECKS.like(task, condition)
  local value = value_of(task, condition[2])
  if condition[2] ~= F.tags then return is_like(value, condition[3]) end
  for tag in string.gmatch(value, '[^,]+') do if is_like(tag, condition[3]) then return true end end
  return false
end

function CHECKS.range(task, condition)
  local number = number_of(task, condition[2])
  return number and (not condition[3] or number >= condition[3]) and (not condition[4] or number < condition[4]) or false
end

CHECKS['error'] = function(task, condition)
  return string.find(error_of(task, condition[3] == 'type'), condition[2], 1, true) ~= nil
end

function CHECKS.word(task, condition)
  local values = { task.id }
  for i, field in ipairs(WORDS_IN) do values[i + 1] = value_of(task, field) end
  return string.find(string.lower(table.concat(values, '\0')), condition[2], 1, true) ~= nil
end

-- Whether a task meets a decoded condition.
function lib.meets(task, condition) return CHECKS[condition[1]](task, condition) end

local PARTS = { ['and'] = true, ['or'] = true, ['not'] = true }
local OF_TIMES = { age = { 'c' }, waited = { 'c', 'b', 'e' }, ran = { 'b', 'e' } } -- the state is always read

-- Adds the fields of a record that a condition reads: a candidate costs the less, the fewer they are.
local function add_fields(condition, found, seen)
  local word, field = condition[1], condition[2]
  if PARTS[word] then
    for i = 2, #condition do add_fields(condition[i], found, seen) end
    return
  end
  local read = word == 'word' and WORDS_IN or word == 'error' and { F.error } or word == 'range' and OF_TIMES[field] or { field }
  for _, each in ipairs(read) do
    if each ~= 'id' and not seen[each] then seen[each] = true; found[#found + 1] = each end
  end
end

-- Whether a task meets a condition, given as JSON, and the record if it was read. Also returns the bytes that were read.
function lib.meets_text(id, text, record)
  local known = ctx.conditions[text]
  if not known then
    known = { condition = cjson.decode(text), fields = { F.state } } -- of a record that is gone it has no value
    add_fields(known.condition, known.fields, { s = true })
    ctx.conditions[text] = known
  end
  record = record or lib.named_fields(lib.task_key(id), unpack(known.fields))
  if not record then return false, 0 end
  return lib.meets({ id = id, record = record }, known.condition), #(record[F.error] or '')
end
