#!lua flags=no-writes
-- chunk_results: the results of a task's chunks in the order of their numbers, as many as fit into one answer.
-- KEYS: 1 the pool's prefix
-- ARGV: 1 task, 2 number of the first chunk, 3 number behind the last one, 4 most chunks to look at, 5 most bytes
-- Reply: the number of the next page's first chunk; numbers of chunks whose record is lost, though they did not fail;
--        results of the done chunks.
-- Transitions: none.
--@needs store_helpers tolerant_reads

lib.tolerate()

local task, number, last, room, bytes = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4]), tonumber(ARGV[5])
local results, lost = {}, {}
while number < last and room > 0 and bytes > 0 do
  local name = lib.text(number)
  local row = lib.named_fields(TASK .. task .. '#' .. name, F.state, F.result) or {}
  if row[F.state] == 'done' then
    results[#results + 1] = row[F.result] or ''
    bytes = bytes - #(row[F.result] or '')
  elseif not row[F.state] and not call('ZSCORE', TASK .. task .. '#chunks:failed', name) then
    lost[#lost + 1] = name
  end
  number, room = number + 1, room - 1
end
return { number, lost, results }
