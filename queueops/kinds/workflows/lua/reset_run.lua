#!lua
-- reset_run: ends a run, and begins a new run of its instance with the history before a step.
-- KEYS: 1 the pool's prefix
-- ARGV: 1 id of the run, 2 number of an entry of the step that is made again, 3 id of the new run, 4 token of this action,
--       5 rules, 6 who, 7 reason
-- Reply: word (OK, REPEAT: this very action came before, REFUSED, GONE), the id of the new run, the state of the old one,
--        the reason of a refusal.
-- Transitions: push, cancel.
--@needs lanes phases run_reset store_helpers transitions wakeup

local id, entry, token = ARGV[1], tonumber(ARGV[2]) or 0, ARGV[4]
local record = lib.read_record(id)
if not record or record[F.kind] ~= 'workflow' then return { 'GONE', '', '', '' } end
if record[F.operation] == token then return { 'REPEAT', record[F.next_run] or '', record[F.state], '' } end

lib.need_agenda()
lib.need_lane(record[F.lane] or 'default')
local word, why = lib.reset_run(id, record, entry, ARGV[3], ARGV[7])
if word == 'OK' then
  call('HSET', lib.task_key(id), F.operation, token)
  local line = { k = 'operator', verb = 'reset', who = ARGV[6], value = 'entry ' .. ARGV[2] }
  line.to = 'pending'; lib.log_line(ARGV[3], line)
  line.to, line.from = nil, record[F.state]; lib.log_line(id, line)
end
lib.settle_up()
lib.wake(ctx.brought)
return { word, word == 'OK' and ARGV[3] or '', call('HGET', lib.task_key(id), F.state) or '', why }
