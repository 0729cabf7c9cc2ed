#!lua
-- start_run: begins a run of an instance, unless the instance has one that has not ended.
-- KEYS: 1 the pool's prefix
-- ARGV: 1 instance, 2 token of this start, 3 id of the run, 4 due ('' now, '+ms', or epoch ms), 5 and 6 the lease of the
--       running task that starts it (see `may_push`; both '' without one), 7.. the fields of the record
-- Reply: word (OK, REPEAT: this very start came before, EXISTS: the instance has a run) and the id of the run; or STALE.
-- Transitions: push, postpone.
--@needs conflicts fence handover lanes phases store_helpers transitions wakeup

local instance, token, id, due = ARGV[1], ARGV[2], ARGV[3], ARGV[4]
if ARGV[6] ~= '' and not lib.may_push(ARGV[5], ARGV[6]) then return { 'STALE', '' } end
local newest = call('HGET', P .. ':instances', instance)
local row = newest and lib.named_fields(lib.task_key(newest), F.state, F.token) or {}
if row[F.state] and row[F.token] == token then return { 'REPEAT', newest } end
if row[F.state] and not TERMINAL[row[F.state]] then return { 'EXISTS', newest } end

local spec = { id = id, policy = 'new', token = token, fields = { 'vi', instance, 'tk', token }, values = { vi = instance, tk = token } }
if row[F.state] then spec.values.vp, spec.fields[5], spec.fields[6] = newest, 'vp', newest end
for i = 7, #ARGV, 2 do
  spec.values[ARGV[i]] = ARGV[i + 1]
  spec.fields[#spec.fields + 1] = ARGV[i]; spec.fields[#spec.fields + 1] = ARGV[i + 1]
end
if due ~= '' then spec.due = string.sub(due, 1, 1) == '+' and now + tonumber(due) or tonumber(due) end
if spec.due and spec.due <= now then spec.due = nil end
lib.need_agenda()
lib.need_lane(spec.values.l or 'default')
call('ZCARD', lib.lane_key(spec.values.l or 'default'))
call('HSET', P .. ':instances', instance, id)
if not spec.due then lib.offer_to_idle(spec.values.n) end
lib.place(spec)
lib.settle_up()
lib.hand_out()
lib.wake(ctx.brought)
return { 'OK', id }
