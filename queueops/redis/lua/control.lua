#!lua flags=allow-oom
-- control: an operator's action on one or many tasks: compare and set, each row answered.
-- KEYS: 1 the pool's prefix
-- ARGV: 1 verb, 2 token of this action, 3 first value, 4 second value (of cancel: hard; of retry: the reason), 5 rules,
--       6 who, 7 the states that allow the verb (separated by commas), 8 the last action that the operator saw ('' = any,
--       '-' = none), 9.. ids
-- Reply: '1' if commands were written and no live worker can deliver them; for each id: word (OK REPEAT REFUSED GONE),
--        its state now, a detail. A REPEAT without a detail was done by an action of the same token. Then composites that
--        ended (id, kind, name, state, root).
-- Transitions: retry, reprocess, gather, run_now, postpone, cancel, release, requeue, reinstate, discard, delete, restore.
--@needs caller_news lanes operator_action outbox_dispatch phases transitions wakeup

local reply, allowed = { '' }, lib.states_in(ARGV[7])
local action = { verb = ARGV[1], token = ARGV[2], value = ARGV[3], second = ARGV[4], who = ARGV[6], allowed = allowed }
if ARGV[8] ~= '' then action.seen = ARGV[8] end

if action.verb == 'retry' then action.reason = ARGV[4] end
local changed = false

lib.need_agenda()
for i = 9, #ARGV do
  local word, state, detail = lib.act_on(ARGV[i], action)
  changed = changed or word == 'OK'
  reply[#reply + 1] = word; reply[#reply + 1] = state; reply[#reply + 1] = detail or ''
end
lib.settle_up()
local _, alone = lib.deliver(-1)
if alone then reply[1] = '1' end
if changed then lib.wake(ctx.brought) end -- a refused action wakes no worker
reply[#reply + 1] = ctx.ended_wholes
return reply
