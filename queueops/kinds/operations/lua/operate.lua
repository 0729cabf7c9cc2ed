#!lua flags=allow-oom
-- operate: performs the next part of a bulk action. Place and counts are in the record of the operation, and are written
-- in the same call as the changes: no task is counted twice, whichever worker goes on.
-- KEYS: 1 the pool's prefix
-- ARGV: 1 operation, 2 fence, 3 verb, 4 token, 5 rules, 6 first value, 7 second value (of cancel: hard), 8 who,
--       9 the states that allow the verb (separated by commas), 10 tasks at most in this call, 11 tasks at most in all,
--       12 the time of the question (tasks that entered their state later are left out), 13 '1': takes back what the action
--       of a token did, 14 the kinds of which the reply names the cancelled tasks, 15 number of indexes, their key
--       suffixes, then pairs: field, its wanted value.
-- Reply: word (MORE, END, HELD: an operator paused it, STOP: it was cancelled, STALE), tasks seen so far, tasks changed so
--        far; '1' if commands were written and no live worker can deliver them; composites that ended (id, kind, name,
--        state, root); ids of the cancelled tasks.
-- Transitions: retry, reprocess, gather, run_now, postpone, cancel, release, requeue, reinstate, discard, delete, restore.
--@needs caller_news fence lanes operation_walk operator_action outbox_dispatch phases store_helpers
--@needs transitions wakeup

local id, key = ARGV[1], TASK .. ARGV[1]
if not lib.holds_lease(id, ARGV[2]) then return { 'STALE', 0, 0, '', {}, {} } end
local row = lib.named_fields(key, 'x', 'jh', 'ji', 'js', 'jm', 'jn', 'jk')
local seen, changed = lib.number_of(row[F.seen]) or 0, lib.number_of(row[F.changed]) or 0
if row[F.cancel_requested] then return { 'STOP', seen, changed, '', {}, {} } end
if row[F.held_since] then return { 'HELD', seen, changed, '', {}, {} } end

local walk = { id = id, at = lib.number_of(row[F.walk_index]) or 1, score = row[F.walk_score] or '', member = row[F.walk_member] or '',
  asked = tonumber(ARGV[12]),
  part = tonumber(ARGV[10]), left = tonumber(ARGV[11]) - seen, takes_back = ARGV[13] == '1',
  tells = lib.states_in(ARGV[14]), indexes = {}, wanted = {} }
for i = 16, 15 + tonumber(ARGV[15]) do walk.indexes[#walk.indexes + 1] = ARGV[i] end
for i = 16 + #walk.indexes, #ARGV do walk.wanted[#walk.wanted + 1] = ARGV[i] end
local action = { verb = ARGV[3], token = ARGV[4], value = ARGV[6], second = ARGV[7], who = ARGV[8],
  allowed = lib.states_in(ARGV[9]) }

lib.need_agenda()
local tally = lib.walk_on(walk, action)
seen, changed = seen + tally.seen, changed + tally.changed
lib.note_walk(key, walk, tally, seen)
lib.settle_up()
local _, alone = lib.deliver(-1)
lib.wake(ctx.brought)
local is_over = walk.at > #walk.indexes or tally.cut or (walk.takes_back and seen >= tonumber(ARGV[11]))
return { is_over and 'END' or 'MORE', seen, changed, alone and '1' or '', ctx.ended_wholes, tally.cancelled }
