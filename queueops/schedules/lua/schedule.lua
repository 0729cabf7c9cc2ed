#!lua flags=allow-oom
-- schedule: defines, pauses, resumes or deletes a schedule, or marks it as gone from the code: compare and set.
-- KEYS: 1 the pool's prefix
-- ARGV: 1 verb (put, align, pause, resume, orphan, rest, delete), 2 schedule, 3 version seen ('' any, 'new' there must be none),
--       4 next tick ('' none), 5 who, 6 definition, 7 how many schedules a pool may have
-- Reply: word (OK REPEAT STALE TAKEN FULL GONE).
-- Transitions: none.
--@needs minute_counts numbers schedules store_helpers

local verb, id, seen, who = ARGV[1], ARGV[2], ARGV[3], ARGV[5]
local key, score = lib.schedule_key(ARGV[2]), call('ZSCORE', ctx.SCHEDULES, ARGV[2])
local is_hash, version, definition, paused, orphaned = lib.values_of(key, 'v', 'x', 'pa', 'og')

local function due() return (paused or ARGV[4] == '') and '+inf' or ARGV[4] end

local function refusal()
  if not score then
    if verb ~= 'put' or (seen ~= '' and seen ~= 'new') then return 'GONE' end
    if call('ZCARD', ctx.SCHEDULES) >= tonumber(ARGV[7]) then return 'FULL' end
    return nil
  end
  if verb == 'put' and seen ~= '' and definition == ARGV[6] and not orphaned then return 'REPEAT' end
  if verb == 'pause' and paused or verb == 'resume' and not paused or verb == 'orphan' and orphaned then return 'REPEAT' end
  if seen == 'new' then return 'TAKEN' end
  if seen ~= '' and version ~= seen then return 'STALE' end
  if not is_hash and verb ~= 'put' and verb ~= 'delete' then return 'GONE' end
end

local verbs = {}

function verbs.put()
  if not is_hash then call('DEL', key) end
  call('HSETNX', key, 'cr', NOW)
  call('HDEL', key, 'og', 'br')
  call('HSET', key, 'x', ARGV[6], 'ed', NOW, 'by', who)
  call('ZADD', ctx.SCHEDULES, due(), id)
  if paused then call('HSET', key, 'pd', ARGV[4]) end
end

-- The clock was set back: the next tick comes earlier than planned.
function verbs.align() call('ZADD', ctx.SCHEDULES, due(), id) end

function verbs.pause()
  call('HSET', key, 'pa', NOW, 'pw', who, 'pd', score) -- the tick that it misses first
  call('ZADD', ctx.SCHEDULES, '+inf', id)
end

function verbs.resume()
  call('HDEL', key, 'pa', 'pw', 'pd')
  paused = nil
  call('ZADD', ctx.SCHEDULES, due(), id)
end

function verbs.orphan()
  call('HSET', key, 'og', NOW)
  call('ZADD', ctx.SCHEDULES, '+inf', id)
end

-- No watchdog can read the definition, for the reason in its place: the schedule stops firing.
function verbs.rest()
  call('HSET', key, 'br', ARGV[6])
  call('ZADD', ctx.SCHEDULES, '+inf', id)
end

function verbs.delete()
  call('DEL', key, key .. SUBKEY.log, key .. SUBKEY.queue)
  call('ZREM', ctx.SCHEDULES, id)
  lib.try('SREM', ctx.QUEUED, id)
end

local refused = refusal()
if refused then return refused end
verbs[verb]()
if verb ~= 'delete' and not (not is_hash and verb ~= 'put') then call('HSET', key, 'v', lib.next_number()) end
return 'OK'
