#!lua flags=allow-oom
-- control: an operator's action on one or many tasks: compare and set, each row answered.
-- KEYS: 1 the pool's prefix
-- ARGV: 1 verb, 2 token of this action, 3 first value, 4 second value (of cancel: hard), 5 rules, 6 who, 7 the states that allow the
--       verb (separated by commas), 8.. ids
-- Reply: '1' if commands were written and no live worker can deliver them; for each id: word (OK REPEAT REFUSED GONE),
--        its state now, a detail. A REPEAT without a detail was done by an action of the same token. Then composites that
--        ended (id, kind, name, state, root).
-- Transitions: retry, reprocess, gather, run_now, postpone, cancel, release, requeue, reinstate, discard, delete, restore.
--@needs lanes operator_verbs phases records store_helpers task_end transitions trash wakeup

local NUMERIC = { postpone = true, priority = true, keep = true }
local verb, token, allowed, reply = ARGV[1], ARGV[2], {}, { '' }
for state in string.gmatch(ARGV[7], '[^,]+') do allowed[state] = true end

local function answer(word, state, detail)
  reply[#reply + 1] = word; reply[#reply + 1] = state; reply[#reply + 1] = detail or ''
end

local function control(id)
  local record = lib.read_record(id)
  if verb == 'restore' then return answer(lib.restore(id, record, token)) end
  if not (record and CLASS[record.s]) then
    local aside = call('ZSCORE', P .. ':state:quarantined', id)
    if verb == 'discard' and aside then
      lib.forget(id, 'quarantined')
      return answer('OK', '')
    end
    local mark = verb == 'delete' and call('HMGET', P .. ':trash:' .. id, 's', 'ot')
    if mark and mark[1] then return answer('REPEAT', '', mark[2] ~= token and 'it is in the trash already' or '') end
    if aside then return answer('REFUSED', 'quarantined', 'its record cannot be read: it can only be discarded') end
    if record then return answer('REFUSED', '', 'its record has an unknown state, and it is about to be quarantined') end
    return answer('GONE', '')
  end
  if record.ot == token then return answer('REPEAT', record.s) end
  if not allowed[record.s] then return answer('REFUSED', record.s, verb .. ' is not possible while it is ' .. record.s) end
  local refuse = lib.hooks.refuse_verb[record.k]
  local reason = refuse and refuse(record, verb, ARGV[3])
    or record.pi and (verb == 'retry' or verb == 'reinstate') and lib.hooks.refuse_part(record)
    or verb == 'reinstate' and lib.refusal_of_reinstate(record)
  if reason then return answer('REFUSED', record.s, reason) end
  if NUMERIC[verb] and not lib.number_of(ARGV[3]) then return answer('REFUSED', record.s, verb .. ' needs a number') end
  local state, detail = lib.operator_verbs[verb](id, record, ARGV[3], ARGV[4])
  if verb == 'delete' then call('HSET', P .. ':trash:' .. id, 'ot', token) end
  if state ~= '' then
    call('HSET', lib.task_key(id), 'ot', token)
    lib.log_line(id, { k = 'operator', verb = verb, who = ARGV[6], from = record.s, to = state, value = string.sub(ARGV[3], 1, 2000) })
  end
  answer('OK', state, detail)
end

lib.need_agenda()
for i = 8, #ARGV do control(ARGV[i]) end
lib.settle_up()
local _, alone = lib.hooks.deliver(-1)
if alone then reply[1] = '1' end
lib.wake(ctx.brought)
reply[#reply + 1] = ctx.ended_wholes
return reply
