#!lua flags=no-writes
-- rows: some tasks as rows of a list: parts in this pool, of parent tasks in other pools.
-- KEYS: 1 the pool's prefix
-- ARGV: for each: id, its parent task ('' = any)
-- Reply: for each: '1' if it is gone (or has another parent), time of its state, length of its arguments, its fields, the
--        start of its arguments and of its error.
-- Transitions: none.
--@needs list_row store_helpers tolerant_reads

lib.tolerate()

local rows = {}
for i = 1, #ARGV, 2 do
  local task = lib.shown_task(ARGV[i])
  local is_part, whole = ARGV[i + 1] ~= '', nil
  if is_part then is_part, whole = lib.values_of(lib.task_key(ARGV[i]), F.parent_id) end
  local gone = not task.fields.s or (is_part and whole ~= ARGV[i + 1])
  rows[#rows + 1] = { gone and '1' or '', lib.shown_values(task) }
end
return lib.told(rows)
