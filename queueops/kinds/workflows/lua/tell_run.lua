#!lua flags=allow-oom
-- tell_run: sends an event to a run, or suspends and resumes it.
-- KEYS: 1 the pool's prefix
-- ARGV: 1 id of the run ('' = the newest of the instance), 2 instance ('' = that very run; else what it went on as),
--       3 what (signal, cancel, suspend, resume), 4 the event as JSON, 5 rules, 6 who, 7 the name of a signal or the reason, for the log,
--       8 the payload of a large signal, whose event names the field s:<token>, 9 token of this message,
--       10 and 11 the lease of the running task that sends it (see `may_push`; both '' without one)
-- Reply: word (OK, REPEAT: this very message came before, LATE: it has ended, and counts the signal,
--        ENDED, GONE), the id of the run, its state; or STALE.
-- Transitions: activate, cancel, suspend.
--@needs fence handover lanes minute_counts phases run_stops run_suspend runs store_helpers transitions wakeup

if ARGV[11] ~= '' and not lib.may_push(ARGV[10], ARGV[11]) then return { 'STALE', '', '' } end
local id = ARGV[2] == '' and ARGV[1] or lib.runs.meant(ARGV[1], ARGV[2])
local what, token, key = ARGV[3], ARGV[9], lib.task_key(id)
local row = lib.runs.read(id)
if not row then return { 'GONE', id, '' } end
if call('ZSCORE', key .. SUBKEY.told, token) then return { 'REPEAT', id, row[F.state] } end
if TERMINAL[row[F.state]] and what ~= 'signal' then return { 'ENDED', id, row[F.state] } end
if TERMINAL[row[F.state]] then
  lib.runs.note_late(id, row, 1)
  return { 'LATE', id, row[F.state] }
end

lib.need_agenda()
call('ZADD', key .. SUBKEY.told, NOW, token)
lib.try('ZREMRANGEBYSCORE', key .. SUBKEY.told, '-inf', now - 600000)
lib.log_line(id, { k = 'operator', verb = what, who = ARGV[6], value = ARGV[7] })
if what == 'suspend' then
  lib.run_suspend.suspend(id, row)
elseif what == 'resume' then
  lib.run_suspend.resume(id, row)
elseif what ~= 'cancel' or not lib.run_stops.cancel_unbegun(id, row, ARGV[7]) then
  if ARGV[8] ~= '' then call('HSET', lib.runs.payloads_of(id), 's:' .. token, ARGV[8]) end
  lib.offer_to_idle(row[F.name])
  lib.runs.deliver(id, ARGV[4], row)
end
lib.settle_up()
lib.hand_out()
lib.wake(ctx.brought)
return { 'OK', id, call('HGET', key, 's') or '' }
