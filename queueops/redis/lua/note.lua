#!lua flags=allow-oom
-- note: stores progress or a log line of a running task. Refused if its lease is no longer current.
-- KEYS: 1 the pool's prefix
-- ARGV: 1 id, 2 fence, 3 done ('' = unchanged), 4 total ('' = unchanged), 5 log line ('' = none), 6 the line's number (0: none)
-- Reply: OK STALE GONE
-- Transitions: none.
--@needs minute_counts store_helpers transitions

local id, fence = ARGV[1], ARGV[2]
local _, state, current, last_line = lib.values_of(lib.task_key(id), F.state, F.fence, F.last_line)
if not state then return 'GONE' end
if current ~= fence or not LEASED[state] then
  lib.count_minute('stale', 1)
  return 'STALE'
end
if ARGV[3] ~= '' then call('HSET', lib.task_key(id), F.progress, ARGV[3]) end
if ARGV[4] ~= '' then call('HSET', lib.task_key(id), F.total, ARGV[4], F.has_more, 1) end
local mark = ARGV[6] ~= '0' and fence .. ':' .. ARGV[6]
if ARGV[5] ~= '' and not (mark and last_line == mark) then -- else it was written before, and the reply lost
  lib.log_line(id, { k = 'log', text = ARGV[5] })
  if mark then call('HSET', lib.task_key(id), F.last_line, mark) end
end
if lib.is_listened() then
  lib.tell_event(id, { done = ARGV[3], total = ARGV[4], text = ARGV[5] })
end
return 'OK'
