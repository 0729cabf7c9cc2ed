#!lua flags=allow-oom
-- pause_name: an operator pauses all tasks of a name, or resumes them. Those that were held back return to their lanes in
-- parts: the first one now, the others by the agenda.
-- KEYS: 1 the pool's prefix
-- ARGV: 1 name, 2 '1' to pause it, 3 how many names may be paused at most
-- Reply: since when it was paused in epoch ms ('' = it was not), how many of its tasks are held back now; or FULL.
-- Transitions: none.
--@needs clock_guard lanes minute_counts paused_names phases transitions wakeup

local name, all = ARGV[1], P .. ':names:paused'
local since = call('HGET', all, name) or ''
if ARGV[2] == '1' and since == '' and call('HLEN', all) >= tonumber(ARGV[3]) then return { 'FULL' } end
lib.need_agenda()
if ARGV[2] == '1' then
  call('HSETNX', all, name, NOW)
  lib.unschedule('~name:' .. name)
else
  call('HDEL', all, name)
  lib.unschedule('~name:' .. name)
  if lib.bring_back(name) then lib.schedule('~name:' .. name, now) end
end
ctx.any_paused = lib.try('HGET', P .. ':clock', 'paused') == '1'
lib.note_paused()
lib.flush_all()
lib.wake(ctx.brought)
return { since, lib.safe_call('ZCARD', P .. ':paused:' .. name) }
