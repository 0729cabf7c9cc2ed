-- Consistency check of runs: each open command has what ends it, and a run with events is ready.
--@needs fieldcheck runs store_helpers transitions

local function failed(number, reason)
  return '{"e":"failed","c":' .. number .. ',"at":' .. NOW .. ',"s":"failed","y":"' .. reason .. '"}'
end

local function check_call(id, number, what)
  local kind, rest = string.sub(what, 1, 1), string.sub(what, 2)
  if kind == 't' then
    local entry = '~timer:' .. number .. ':' .. id
    if not lib.safe_call('ZSCORE', P .. ':agenda', entry) and lib.wrong(id, 'its timer ' .. number .. ' is not on the agenda') then
      lib.schedule(entry, lib.number_of(rest) or now)
    end
    return
  end
  local row = lib.fields_of(lib.task_key(rest), 's') or {}
  if row[1] and not TERMINAL[row[1]] then return end
  if lib.wrong(id, 'it waits for ' .. rest .. ', which ' .. (row[1] and 'has ended' or 'is gone')) then
    lib.runs.finish_call(id, number, failed(number, 'its end was lost'))
  end
end

function lib.hooks.check_record.workflow(id, record)
  if TERMINAL[record.s] then return end
  local calls = lib.safe_call('HGETALL', lib.runs.calls_of(id))
  for i = 1, #calls, 2 do
    if string.find(calls[i], '^%d+$') then check_call(id, calls[i], calls[i + 1]) end
  end
  if record.s == 'idle' and not record.vs and lib.safe_call('EXISTS', lib.runs.inbox_of(id)) == 1
    and lib.wrong(id, 'it is idle, and its inbox has events') then
    lib.runs.wake(id, record)
  end
end
