#!lua flags=no-writes
-- worker: one process that serves the pool, and its runs among the tasks that ended last.
-- KEYS: 1 the pool's prefix
-- ARGV: 1 worker, 2 at how many tasks of each state to look at most
-- Reply: Redis' time in ms; ms of its last beat ('' = it does not serve this pool); its fields (flat); tasks whose last run
--        was its: id, and the fields in `FIELDS`; the stacks of its threads: asked for at, stored at, text.
-- Transitions: none.
--@needs store_helpers tolerant_reads

lib.tolerate()
local FIELDS = { 's', 'n', 'b', 'e', 'w' }
local worker, most, tasks = ARGV[1], tonumber(ARGV[2]), {}
local beat = call('ZSCORE', P .. ':workers', worker)
if not beat then return lib.told({ string.format('%.0f', now), '', {}, {}, {} }) end
for state, class in pairs(CLASS) do
  if class == 'terminal' or state == 'restart' then
    for _, id in ipairs(call('ZREVRANGE', P .. ':state:' .. state, 0, most - 1)) do
      local row = lib.fields_of(lib.task_key(id), unpack(FIELDS))
      local _, _, begun, _, its_worker = unpack(row or {})
      if its_worker == worker and begun then tasks[#tasks + 1] = { id, row } end
    end
  end
end
local stacks = call('HMGET', P .. ':stack:' .. worker, 'asked', 'at', 'text')
return lib.told({ string.format('%.0f', now), beat, call('HGETALL', P .. ':worker:' .. worker), tasks, stacks })
