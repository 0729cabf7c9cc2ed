-- Consistency check of runs: each open command has what ends it, a run with events is ready, and its lists can be read. What is
-- long is checked in parts, each in a call of its own: `~run:<part>:<position>:<id>`.
--@needs fieldcheck run_far_check run_history run_later_check run_marks run_open_check runs store_helpers transitions

local AT_ONCE = lib.run_open_check.AT_ONCE

local function check_call(id, number, what)
  local kind, rest = string.sub(what, 1, 1), string.sub(what, 2)
  if kind == 't' then
    local entry = '~timer:' .. number .. ':' .. id
    if not lib.safe_call('ZSCORE', P .. ':agenda', entry) and lib.wrong(id, 'its timer ' .. number .. ' is not on the agenda') then
      lib.schedule(entry, lib.number_of(rest) or now)
    end
    return
  end
  local row = lib.named_fields(lib.task_key(rest), F.state) or {}
  if row[F.state] and not TERMINAL[row[F.state]] then return end
  if lib.wrong(id, 'it waits for ' .. rest .. ', which ' .. (row[F.state] and 'has ended' or 'is gone')) then
    lib.runs.finish_call(id, number, lib.runs.lost_event(number, 'its end was lost'))
  end
end

lib.run_check = {}
local parts = {}
lib.run_check.parts = parts

-- Goes on with a part in another call.
function lib.run_check.go_on(part, position, id) lib.check_later('~run:' .. part .. ':' .. position .. ':' .. id) end

-- The pages of a hash or a sorted set. Returns what was found, as pairs.
function lib.run_check.scan(command, key, part, cursor, id)
  local page = lib.safe_call(command, key, cursor, 'COUNT', AT_ONCE)
  if type(page) ~= 'table' then return {} end -- a key of a wrong type has a fault of its own
  if page[1] ~= '0' then lib.run_check.go_on(part, page[1], id) end
  return page[2]
end

function parts.calls(cursor, id)
  local found = lib.run_check.scan('HSCAN', lib.runs.calls_of(id), 'calls', cursor, id)
  local has_far = false
  for i = 1, #found, 2 do
    if string.find(found[i], '^%d+$') then check_call(id, found[i], found[i + 1])
    elseif lib.run_far_check.is_call(id, found[i], found[i + 1]) then has_far = true end
  end
  if has_far then lib.check_later('~far:' .. cursor .. ':' .. id) end
end

parts.later = lib.run_later_check.plans

-- A payload that is kept apart, and is gone.
local function lost_payload(id, entry)
  local field = type(entry) == 'table' and type(entry.k) == 'string' and entry.k
  return field and entry.z and lib.safe_call('HEXISTS', lib.runs.payloads_of(id), field) == 0
end

-- An entry that is not JSON, or without its payload, cannot be repaired: it blocks the run, and an operator resets it to an earlier step.
function parts.history(first, id, record)
  local texts = lib.safe_call('LRANGE', lib.runs.history_of(id), first, first + AT_ONCE - 1)
  local length = lib.safe_call('LLEN', lib.runs.history_of(id))
  for i, text in ipairs(texts) do
    local place, is_last = lib.text(first + i), first + i == length
    local kind = lib.run_history.head_of(text)
    local is_json, entry = pcall(cjson.decode, text)
    local wrong = not is_json and 'cannot be read'
      or lost_payload(id, entry) and 'has lost its payload'
      or first + i == 1 and kind ~= 'step' and 'does not begin a step'
      or kind == 'end' and (not is_last or not TERMINAL[record[F.state]]) and 'is an end, and the run goes on'
    if wrong and not ctx.repair then lib.wrong(id, 'entry ' .. place .. ' of its history ' .. wrong) end
  end
  if #texts == AT_ONCE then lib.run_check.go_on('history', lib.text(first + AT_ONCE), id) end
end

-- An event that is not JSON says nothing to any version: it goes to the log of the run.
function parts.inbox(first, id, record)
  local texts = lib.safe_call('LRANGE', lib.runs.inbox_of(id), first, first + AT_ONCE - 1)
  for _, text in ipairs(texts) do
    if not pcall(cjson.decode, text) and lib.wrong(id, 'an event of its inbox cannot be read') and not LEASED[record[F.state]] then
      lib.safe_call('LREM', lib.runs.inbox_of(id), 1, text)
      lib.log_line(id, { k = 'log', text = 'an event that cannot be read was removed: ' .. lib.shortened(text, 1000) })
    end
  end
  if #texts == AT_ONCE then lib.run_check.go_on('inbox', lib.text(first + AT_ONCE), id) end
end

local function check_part(part, id, record, key, command)
  if lib.run_open_check.is_short(key, command) then parts[part](0, id, record) else lib.run_check.go_on(part, 0, id) end
end

local function check_marks(id, record)
  for mark, field in pairs(lib.run_marks.FIELDS) do
    if lib.run_marks.has(mark, record) and not lib.safe_call('ZSCORE', P .. ':' .. mark, id)
      and lib.wrong(id, 'it is ' .. mark .. ', and not in that index') then
      lib.run_marks.enter(mark, id, lib.number_of(record[field]))
    end
  end
end

local function check_instance(id, record)
  if record[F.instance] and not lib.safe_call('HGET', P .. ':instances', record[F.instance])
    and lib.wrong(id, 'its instance does not name it') then
    lib.safe_call('HSET', P .. ':instances', record[F.instance], id)
  end
end

function lib.hooks.check.workflow.record(id, record)
  check_part('history', id, record, lib.runs.history_of(id), 'LLEN')
  check_marks(id, record)
  if TERMINAL[record[F.state]] then return end
  check_part('calls', id, record, lib.runs.calls_of(id), 'HLEN')
  check_part('inbox', id, record, lib.runs.inbox_of(id), 'LLEN')
  lib.run_later_check.check(id)
  lib.run_open_check.check(id)
  check_instance(id, record)
  local row = lib.runs.read(id) -- a repair may have moved it
  if row and row[F.state] == 'idle' and not row[F.suspended_since] and lib.safe_call('EXISTS', lib.runs.inbox_of(id)) == 1
    and lib.wrong(id, 'it is idle, and its inbox has events') then
    lib.runs.wake(id, row)
  end
end

function lib.hooks.check_entry.run(rest)
  local part, position, id = string.match(rest, '^(%a+):(%d+):(.*)$')
  if not parts[part] then return end
  local record = id ~= '' and lib.read_record(id)
  if id == '' then parts[part](position, id)
  elseif record and record[F.kind] == 'workflow' then parts[part](part == 'calls' and position or tonumber(position), id, record) end
end
