#!lua
-- fire: creates the tasks of a schedule's tick, once, however many watchdogs call it. Also for a run by hand, or a run
-- that waited for the end of the run before it.
-- KEYS: 1 the pool's prefix
-- ARGV: 1 schedule, 2 version seen, 3 tick seen ('' a run by hand), 4 next tick ('' none), 5 overlap (allow, skip,
--       queue), 6 missed ticks without a run, 7 who, 8 number of runs; for each run: its tick, its task's id, the start
--       ('' now); then the fields of the tasks' records, the name first.
-- Reply: word (OK REPEAT STALE GONE), the tasks that were created (id, kind, name, state, root), then for each run its word
--        (FIRED SKIPPED QUEUED FULL EXISTS).
-- Transitions: push, postpone.
--@needs caller_news lanes minute_counts records schedules store_helpers transitions wakeup

lib.need_agenda()

local MOST_QUEUED, MOST_LINES = 100, 100
local id, tick, overlap, who = ARGV[1], ARGV[3], ARGV[5], ARGV[7]
local key, count = lib.schedule_key(id), tonumber(ARGV[8])
local fields, values, reply = {}, {}, {}
for i = 9 + 3 * count, #ARGV, 2 do
  values[ARGV[i]] = ARGV[i + 1]
  fields[#fields + 1] = ARGV[i]; fields[#fields + 1] = ARGV[i + 1]
end

local score, is_hash, version, fired, last, mark, tick_run =
  call('ZSCORE', ctx.SCHEDULES, id), lib.values_of(key, 'v', 'fd', 'lt', 'lm', 'lr')
if not score or not is_hash then return { 'GONE', {} } end
tick_run = tick_run or last
if tick ~= '' then
  if version ~= ARGV[2] or tonumber(score) ~= tonumber(tick) then return { fired == tick and 'REPEAT' or 'STALE', {} } end
end

local lines = {}
local function note(word, at, task)
  lines[#lines + 1] = { t = now, at = tonumber(at), w = word, id = task, who = who ~= '' and who or nil }
end

local function place(at, task, start, by_hand)
  if call('EXISTS', lib.task_key(task)) == 1 or call('ZSCORE', P .. ':state:quarantined', task) then return 'EXISTS' end
  start = tonumber(start)
  lib.create(task, fields, values, start and start > now and start or nil)
  last = task
  if not by_hand then tick_run = task end
  lib.safe_call('HINCRBY', key, 'fc', 1)
  lib.safe_call('HSET', key, 'lt', task, 'lr', tick_run or '', 'lf', at)
  note('FIRED', at, task)
  lib.tell_caller(task, values[F.kind], values[F.name], 'pushed', values[F.root])
  return 'FIRED'
end

local function skip(at, word)
  lib.safe_call('HINCRBY', key, 'sk', 1)
  note(word, at, lib.unended(tick_run, last) or last)
  return word
end

local function put_off(at, task, start)
  if lib.safe_call('LLEN', key .. SUBKEY.queue) >= MOST_QUEUED then return skip(at, 'FULL') end
  if lib.safe_call('RPUSH', key .. SUBKEY.queue, at .. ' ' .. task .. ' ' .. start) == 0 then return skip(at, 'FULL') end
  lib.safe_call('SADD', ctx.QUEUED, id)
  return 'QUEUED'
end

local function run(at, task, start)
  if overlap == 'queue' then return put_off(at, task, start) end
  if overlap == 'skip' and lib.unended(tick_run, last) then return skip(at, 'SKIPPED') end
  return place(at, task, start, tick == '')
end

-- Starts the first queued run. If its task exists already, the next run is tried.
local function take_up()
  while not lib.unended(tick_run, last) do
    local entry = lib.safe_call('LPOP', key .. SUBKEY.queue)
    if not entry then break end
    local at, task, start = string.match(entry, '^(%S+) (%S+) ?(%S*)$')
    if task and place(at, task, start) == 'FIRED' then break end
  end
  if call('EXISTS', key .. SUBKEY.queue) == 0 then lib.safe_call('SREM', ctx.QUEUED, id) end
end

-- If several ticks in a row are skipped because of the same task, the log keeps one line.
local function write_line(line)
  local skipped = (line.w == 'SKIPPED' or line.w == 'FULL') and line.w .. ' ' .. (line.id or '') or ''
  if skipped ~= '' and skipped == mark and call('EXISTS', key .. SUBKEY.log) == 1 then
    line.n = lib.safe_call('HINCRBY', key, 'ln', 1)
    return lib.safe_call('LSET', key .. SUBKEY.log, -1, cjson.encode(line))
  end
  mark = skipped
  lib.safe_call('HSET', key, 'lm', mark, 'ln', 1)
  lib.safe_call('RPUSH', key .. SUBKEY.log, cjson.encode(line)); lib.safe_call('LTRIM', key .. SUBKEY.log, -MOST_LINES, -1)
end

local missed = tonumber(ARGV[6])
if missed > 0 then
  lib.safe_call('HINCRBY', key, 'ms', missed)
  lines[1] = { t = now, at = tonumber(tick), w = 'MISSED', n = missed }
end
for i = 1, count do
  local first = 6 + 3 * i
  reply[i + 2] = run(ARGV[first], ARGV[first + 1], ARGV[first + 2])
end
take_up()
if tick ~= '' then
  call('ZADD', ctx.SCHEDULES, ARGV[4] ~= '' and ARGV[4] or '+inf', id)
  if count + missed > 0 then lib.safe_call('HSET', key, 'fd', tick) end
end
for _, line in ipairs(lines) do
  write_line(line)
  if line.w == 'FIRED' then lib.try('ZADD', P .. ':names', NOW, values[F.name]); lib.count_minute('in|' .. values[F.name], 1) end
end
lib.flush()
lib.flush_lanes()
lib.wake(ctx.brought)
reply[1], reply[2] = 'OK', ctx.ended_wholes
return reply
