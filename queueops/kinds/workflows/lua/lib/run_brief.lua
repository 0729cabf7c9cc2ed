-- Brief of a decision step: what `step_input` replies, given to the worker with the lease, so that most steps need no call for
-- it. A run with open commands has none: their ends may come while its lease waits for a slot, and its step takes them all.
--@needs minute_counts runs

local MOST_EVENTS, MOST_ENTRIES, MOST_BYTES = 50, 20, 4096

local function bytes_of(texts)
  local size = 0
  for _, text in ipairs(texts) do size = size + #text end
  return size
end

-- JSON: fields of the record, the events of the inbox, and the history; its length alone if it is long.
function lib.hooks.claim.workflow.brief(id, fields)
  if call('EXISTS', lib.runs.calls_of(id)) == 1 then return nil end
  local inbox = lib.try('LRANGE', lib.runs.inbox_of(id), 0, MOST_EVENTS)
  local history = lib.try('LRANGE', lib.runs.history_of(id), 0, MOST_ENTRIES)
  if not (inbox and history) or #inbox > MOST_EVENTS or bytes_of(inbox) > MOST_BYTES then return nil end
  local known = { vf = '', vi = '', vr = '', vo = '' }
  for i = 1, #fields, 2 do
    if known[fields[i]] then known[fields[i]] = fields[i + 1] end
  end
  local past = #history > MOST_ENTRIES or bytes_of(history) > MOST_BYTES
  past = past and call('LLEN', lib.runs.history_of(id)) or '[' .. table.concat(history, ',') .. ']'
  return '[' .. cjson.encode({ known[F.step_fence], known[F.instance], known[F.waiting_run],
    known[F.origin] }) .. ',[' .. table.concat(inbox, ',') .. '],' .. past .. ']'
end
