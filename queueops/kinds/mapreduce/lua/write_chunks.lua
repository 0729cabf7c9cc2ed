#!lua
-- write_chunks: a running map writes its chunks, a stage at a time. The chunks of an earlier attempt of the map stay
-- until this attempt makes other chunks. The end and the digest of each stage are stored to compare them.
-- KEYS: 1 the pool's prefix
-- ARGV: 1 task, 2 fence, 3 step (begin: keep the stages that an attempt wrote, and nothing else; cut: delete the chunks
--       from the number on; add), 4 number of the first chunk, 5 digest of the data (add), 6.. data of each
-- Reply: the number of stored chunks; -1: call again, more is to be deleted; or STALE, GONE
-- Transitions: none of the task; chunks become pending.
--@needs chunk_sets lanes purge store_helpers transitions

local task, fence, step, first = ARGV[1], ARGV[2], ARGV[3], tonumber(ARGV[4])
local row = lib.named_fields(lib.task_key(task), F.state, F.fence, F.map_written, F.begun)
if not row or not row[F.state] then return 'GONE' end
if row[F.state] ~= 'mapping' or row[F.fence] ~= fence then return 'STALE' end
local stages, pending = lib.chunk_set(task, 'stages'), lib.chunk_set(task, 'pending')

-- The end of the last stage at or before a number; 0 if there is none.
local function stage_end(number)
  return tonumber(call('ZREVRANGEBYSCORE', stages, number, 0, 'WITHSCORES', 'LIMIT', 0, 1)[2] or 0)
end

-- The number of chunks that an unfinished map has written, by the record, the stages, and the chunks themselves.
local function written()
  local count = lib.number_of(row[F.map_written])
  if not count or stage_end(count) ~= count then return 0 end
  return call('ZCOUNT', pending, 0, '(' .. lib.text(count)) == count and count or 0
end

local function cut(from)
  local over = call('ZCOUNT', stages, '(' .. lib.text(from), '+inf')
  if over > 0 then call('ZREMRANGEBYRANK', stages, -min(over, 1000), -1) end
  call('HSET', lib.task_key(task), F.has_chunks, 1, F.progress, lib.text(from), F.map_written, lib.text(from))
  local left = lib.purge_chunks(task, from) + max(0, over - 1000)
  lib.flush(); lib.flush_lanes()
  if left > 0 then return -1 end
  if lib.has_chunks(P .. ':trash:' .. task) then call('HDEL', P .. ':trash:' .. task, 'ch', 'mw') end
  call('HDEL', lib.task_key(task), F.chunks, F.chunks_dropped, F.chunks_to_redo, F.unable_workers, F.total, F.longest_chunk_ms,
    F.longest_chunk)
  return from
end

if step == 'begin' then
  call('HSETNX', lib.task_key(task), F.map_begun, row[F.begun] or NOW) -- the first start; that of the reduce will not hide it
  return cut(written())
end
if step == 'cut' then return cut(first) end

local entries, size, last = {}, first + #ARGV - 5, stage_end('+inf')
for i = 6, #ARGV do
  local number = lib.text(first + i - 6)
  call('HSET', TASK .. task .. '#' .. number, F.state, 'pending', F.args, ARGV[i], F.created, NOW)
  entries[#entries + 1] = number; entries[#entries + 1] = number
end
lib.call_sliced('ZADD', pending, entries)
call('HSET', lib.task_key(task), F.has_chunks, 1, F.progress, size)
if last == first or last == size then
  call('ZADD', stages, size, lib.text(size) .. ':' .. ARGV[5])
  call('HSET', lib.task_key(task), F.map_written, size)
else
  call('HDEL', lib.task_key(task), F.map_written) -- what was written before is not known: the next attempt starts over
end
return size
