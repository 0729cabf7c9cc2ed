#!lua flags=allow-oom
-- note: a running task's progress, or a line of its log; refused when its lease is no longer the newest.
-- KEYS: 1 the pool's prefix
-- ARGV: 1 id, 2 fence, 3 done ('' = unchanged), 4 total ('' = unchanged), 5 log line ('' = none)
-- Reply: OK STALE GONE
-- Transitions: none.
--@include clock
--@include core

local id, fence = ARGV[1], ARGV[2]
local row = fields_of(task_key(id), 's', 'f')
if not row or not row[1] then return 'GONE' end
if row[2] ~= fence or not LEASED[row[1]] then
  count_minute('stale', 1)
  return 'STALE'
end
if ARGV[3] ~= '' then call('HSET', task_key(id), 'pr', ARGV[3]) end
if ARGV[4] ~= '' then call('HSET', task_key(id), 'to', ARGV[4]) end
if ARGV[5] ~= '' then log_line(id, { k = 'log', text = ARGV[5] }) end
if LISTENED then
  call('PUBLISH', P .. ':events', cjson.encode({ t = now, id = id, done = ARGV[3], total = ARGV[4], text = ARGV[5] }))
end
return 'OK'
