-- Consistency check of the commands of a run that its history has without an end: each has what will end it. Lists that are
-- not short are read in pages, outside of the store, which gives what no page explains to `~unended:<number>:<fence>:<run>`.
--@needs fieldcheck run_calls run_history runs store_helpers transitions

local AT_ONCE = 500

lib.run_open_check = { AT_ONCE = AT_ONCE }

-- Whether one call may read the whole of a list.
local function is_short(key, command) return (tonumber(lib.safe_call(command, key)) or 0) < AT_ONCE end
lib.run_open_check.is_short = is_short

-- Whether `#calls` has a command, of this pool or of another one.
local function is_begun(id, number)
  local key = lib.runs.calls_of(id)
  return lib.safe_call('HEXISTS', key, number) == 1 or lib.safe_call('HEXISTS', key, 'f' .. number) == 1
end

local function tell_lost(id, number)
  if lib.wrong(id, 'it waits for its command ' .. number .. ', which nothing will end') then
    lib.runs.deliver(id, lib.runs.lost_event(number, 'its end was lost'))
  end
end

-- Removes the commands whose ends wait in the inbox, from this place on.
local function without_ended(id, open, first)
  for _, text in ipairs(lib.safe_call('LRANGE', lib.runs.inbox_of(id), first, -1)) do
    local kind, number = lib.run_history.head_of(text)
    if number and lib.run_history.ENDS[kind] then open[number] = nil end
  end
  return open
end

-- Commands of the history that have no end, and that nothing will end.
function lib.run_open_check.check(id)
  if not is_short(lib.runs.history_of(id), 'LLEN') or not is_short(lib.runs.inbox_of(id), 'LLEN') then
    return lib.check_later('~open:' .. id)
  end
  local history = lib.safe_call('LRANGE', lib.runs.history_of(id), 0, -1)
  local open = lib.run_history.open_before(history, #history + 1)
  for number in pairs(open) do
    if is_begun(id, number) or lib.run_calls.waits(id, number) then open[number] = nil end
  end
  if not next(open) then return end
  for number in pairs(without_ended(id, open, 0)) do tell_lost(id, number) end
end

-- A command of a long history that no page explains, unless a step was made since this fence. Its end may have come since then.
function lib.hooks.check_entry.unended(rest)
  local number, fence, id = string.match(rest, '^(%d+):(%d*):(.*)$')
  local row = number and lib.named_fields(lib.task_key(id), F.state, F.kind, F.step_fence)
  if not (row and row[F.state]) or row[F.kind] ~= 'workflow' or TERMINAL[row[F.state]] or (row[F.step_fence] or '') ~= fence then return end
  if is_begun(id, number) or lib.run_calls.waits(id, number) then return end
  if next(without_ended(id, { [number] = true }, -AT_ONCE)) then tell_lost(id, number) end
end
