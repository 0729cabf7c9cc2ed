#!lua flags=allow-oom
-- advance: stores and counts the progress of a running part of a composite. Refused if its lease is no longer current.
-- KEYS: 1 the pool's prefix
-- ARGV: 1 id, 2 fence, 3 done, 4 total ('' = unchanged), 5 rules
-- Reply: OK STALE GONE
-- Transitions: none.
--@needs minute_counts outbox_dispatch parent progress store_helpers transitions

local id, fence, done, total = ARGV[1], ARGV[2], ARGV[3], ARGV[4]
local names = { 's', 'f', 'to', 'k', 'pi', 'it', 'uc', 'pc', 'pw', 'pl', 'pp', 'tp', 'ro', 'pu', 'po' }
local row, leaf = lib.fields_of(lib.task_key(id), unpack(names)), {}
for i, name in ipairs(names) do leaf[name] = row and row[i] or nil end
if not leaf[F.state] then return 'GONE' end
if leaf[F.fence] ~= fence or not LEASED[leaf[F.state]] then
  lib.count_minute('stale', 1)
  return 'STALE'
end
lib.need_agenda()
local before = lib.family.weight_of(leaf)
call('HSET', lib.task_key(id), F.progress, done)
if total ~= '' then
  call('HSET', lib.task_key(id), F.total, total, F.has_more, 1)
  if leaf[F.uncounted] then call('HSET', lib.task_key(id), F.weight, lib.shown(before)) end -- its root keeps counting this weight
  leaf[F.total] = total
end
if leaf[F.total] and lib.family.counts(leaf) then
  lib.family.count_part(id, leaf, lib.amount(done), total ~= '' and lib.own_weight(total) or before, before)
  lib.family.write_progress()
  lib.deliver(-1)
end
if lib.is_listened() then
  lib.tell_event(id, { done = done, total = total })
end
return 'OK'
