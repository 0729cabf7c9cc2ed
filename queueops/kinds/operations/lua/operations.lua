#!lua flags=no-writes
-- operations: the newest operations of a pool, or those that are wanted.
-- KEYS: 1 the pool's prefix
-- ARGV: 1 how many, 2.. the ids of those that are wanted (none: the newest)
-- Reply: for each: id, then its fields (state, arguments, created, ended, reason, began, held, seen, changed, left, why,
--        rate, looked, cancel requested, crashes, '1': it was cut at the most that it may change, error of the last attempt,
--        failed attempts).
-- Transitions: none.
--@needs store_helpers tolerant_reads

lib.tolerate()
local FIELDS = { 's', 'a', 'c', 'e', 'y', 'jb', 'jh', 'jn', 'jk', 'jr', 'jd', 'jv', 'jl', 'x', 'cr', 'jc', 'er', 'at', 'k' }
local found = {}
local ids = ARGV[2] and { unpack(ARGV, 2) } or call('ZREVRANGE', P .. ':kind:bulk_action', 0, tonumber(ARGV[1]) - 1)
for _, id in ipairs(ids) do
  local row = lib.fields_of(lib.task_key(id), unpack(FIELDS))
  if row and table.remove(row) == 'bulk_action' then found[#found + 1] = { id, unpack(row) } end
end
return lib.told(found)
