#!lua
-- split: a running map makes room, for an earlier run may have left chunks, and writes its own, a batch at a time. What
-- is written twice has the same number; a map that is run again begins with making room.
-- KEYS: 1 the pool's prefix
-- ARGV: 1 task, 2 fence, 3 step (purge, add), 4 number of the first chunk, 5.. data of each
-- Reply: OK, AGAIN (there is more to purge), STALE, GONE
-- Transitions: none of the task; chunks become pending.
--@include clock
--@include core
--@include rates
--@include lanes
--@include wake
--@include orphans
--@include records
--@include generations
--@include ending
--@include runs
--@include chunks
--@include twins
--@include purge

local task, fence, step, first = ARGV[1], ARGV[2], ARGV[3], tonumber(ARGV[4])
local row = fields_of(task_key(task), 's', 'f')
if not row or not row[1] then return 'GONE' end
if row[1] ~= 'mapping' or row[2] ~= fence then return 'STALE' end

if step == 'purge' then
  local left = purge_chunks(task)
  flush(); flush_lanes()
  if left > 0 then return 'AGAIN' end
  if has_chunks(P .. ':trash:' .. task) then call('HDEL', P .. ':trash:' .. task, 'ch') end
  call('HDEL', task_key(task), 'cn', 'xd', 'rd', 'un', 'to', 'xm', 'xn')
  call('HSET', task_key(task), 'ch', 1, 'pr', 0)
  return 'OK'
end

local entries = {}
for i = 5, #ARGV do
  local number = text(first + i - 5)
  call('HSET', TASK .. task .. '#' .. number, 's', 'pending', 'a', ARGV[i], 'c', NOW)
  entries[#entries + 1] = number; entries[#entries + 1] = number
end
call_sliced('ZADD', chunk_set(task, 'pending'), entries)
call('HSET', task_key(task), 'ch', 1, 'pr', first + #ARGV - 4)
return 'OK'
