#!lua flags=allow-oom
-- advance: stores and counts the progress of a running part of a composite. Refused if its lease is no longer current.
-- KEYS: 1 the pool's prefix
-- ARGV: 1 id, 2 fence, 3 done, 4 total ('' = unchanged), 5 rules
-- Reply: OK STALE GONE
-- Transitions: none.
--@include context
--@include tasks
--@include remote_parent

local id, fence, done, total = ARGV[1], ARGV[2], ARGV[3], ARGV[4]
local names = { 's', 'f', 'to', 'k', 'pi', 'it', 'uc', 'pc', 'pw', 'pl', 'pp', 'tp', 'ro', 'pu', 'po' }
local row, leaf = fields_of(task_key(id), unpack(names)), {}
for i, name in ipairs(names) do leaf[name] = row and row[i] or nil end
if not leaf.s then return 'GONE' end
if leaf.f ~= fence or not LEASED[leaf.s] then
  count_minute('stale', 1)
  return 'STALE'
end
need_agenda()
local before = family.weight_of(leaf)
call('HSET', task_key(id), 'pr', done)
if total ~= '' then
  call('HSET', task_key(id), 'to', total, 'm', 1)
  leaf.to = total
end
if leaf.to and family.counts(leaf) then
  family.count_part(id, leaf, amount(done), total ~= '' and own_weight(total) or before, before)
  family.write_progress()
  close_outbox(-1)
end
if is_listened() then
  tell_event(id, { done = done, total = total })
end
return 'OK'
