-- History of a run as the store reads it: kinds and numbers of its entries. Payloads stay as they are.
--@needs runs transitions

lib.run_history = {}

local OPENS = { call = true, child = true, timer = true, tell = true }
lib.run_history.ENDS = { done = true, failed = true, fired = true }

-- The kind of an entry, and the number of its command as a text.
function lib.run_history.head_of(text)
  return string.match(text, '^{"e":"(%a+)"'), string.match(text, '^{"e":"%a+","c":(%d+)')
end

-- The pool of a call or a child, if it is another one.
function lib.run_history.pool_of(text) return string.match(text, '[^\\]"p":"([^"]*)"') end

-- The position of the mark of the step that has this entry; 0 if the history has no such entry.
function lib.run_history.mark_of(history, entry)
  if entry > #history then return 0 end
  for i = entry, 1, -1 do if lib.run_history.head_of(history[i]) == 'step' then return i end end
  return 0
end

-- The commands before a position that have no end there: their entries by number.
function lib.run_history.open_before(history, position)
  local open = {}
  for i = 1, position - 1 do
    local kind, number = lib.run_history.head_of(history[i])
    if number and OPENS[kind] then open[number] = history[i]
    elseif number and (lib.run_history.ENDS[kind] or kind == 'drop') then open[number] = nil end
  end
  return open
end

-- Puts events before those that wait in the inbox of a run.
function lib.run_history.put_back(id, events)
  for i = #events, 1, -1 do lib.safe_call('LPUSH', lib.runs.inbox_of(id), events[i]) end
end
