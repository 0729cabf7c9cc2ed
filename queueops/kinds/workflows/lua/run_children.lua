#!lua flags=no-writes
-- run_children: the children that a run has begun, a page of them, in the order of their commands.
-- KEYS: 1 the pool's prefix
-- ARGV: 1 id of the run, 2 position in its history from which to read, 3 the most entries that are read, 4 rows
-- Reply: the position behind the last entry that was read, and the length of the history; then for each child: its entry,
--        and the id of its last run ('' if that is gone, or in another pool).
-- Transitions: none.
--@needs run_history run_recall runs

local id, first, budget, most = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])
local key, found, last = lib.runs.history_of(id), {}, first
local length = call('LLEN', key)
while last < length and last < first + budget and #found < most do
  for _, text in ipairs(call('LRANGE', key, last, last + 499)) do
    if #found == most then break end
    last = last + 1
    local kind, number = lib.run_history.head_of(text)
    if kind == 'child' then
      found[#found + 1] = { text, not lib.run_history.pool_of(text) and lib.run_recall.task_of(id, number) or '' }
    end
  end
end
return { last, length, unpack(found) }
