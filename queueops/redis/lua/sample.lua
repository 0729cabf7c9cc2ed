#!lua flags=allow-oom
-- sample: the figures of a pool at one moment. The watchdog in turn stores them as the snapshot that every page reads.
-- The cost does not grow with the number of tasks.
-- KEYS: 1 the pool's prefix
-- ARGV: 1 how many lanes at most, 2 the watchdog ('' = only look), 3 for how many ms it has the turn, 4 '1': without the names
--       of what waits in each lane, which estimates and alarms need
-- Reply: '' when it is another watchdog's turn; else JSON:
--        taken, states, oldest (entry time by state), lanes, workers, idle, kinds (tasks that are ready, by kind),
--        overdue, clock, seq, loss (JSON, what was lost last), minute, before, earlier (by name: ended runs and their ms),
--        fault (JSON, what a watchdog cannot do), undelivered (JSON, targets without alerts),
--        failing_work (id, name, state, error: of own work),
--        paused_names (name, since, held, waiting, oldest), broken (the keys that are of another type than they should be),
--        mark (counters of some seconds ago), errors (name, title, times: of the latest, by name),
--        usual (run times and pushes of names in earlier minutes, if tasks wait),
--        parts (ready and active parts of tasks, if a kind has parts), and the figures of kinds.
-- Transitions: none.
--@needs command_figures dead_follow_ups gauges lane_figures own_work paused_names recent_counts schedule_figures
--@needs store_helpers task_counts tolerant_reads

lib.tolerate()

if ARGV[2] ~= '' and not call('SET', P .. ':sampler', ARGV[2], 'NX', 'PX', ARGV[3]) then
  if call('PTTL', P .. ':sampler') >= 0 then return '' end
  call('SET', P .. ':sampler', ARGV[2], 'PX', ARGV[3]) -- a key without an expiry is no turn
end

local states, oldest = {}, {}
for state in pairs(CLASS) do
  states[state] = call('ZCARD', P .. ':state:' .. state)
  local first = call('ZRANGE', P .. ':state:' .. state, 0, 0, 'WITHSCORES')
  oldest[state] = lib.number_of(first[2])
end

local function minute_key(ago) return P .. ':metrics:' .. string.format('%.0f', floor(now / 60000) - ago) end

local LOOKS, MOST_LOOKS = 400, 20
local looked_names, lanes = {}, {}
local listed = call('ZREVRANGE', P .. ':lanes', 0, tonumber(ARGV[1]) - 1, 'WITHSCORES')
local looks = ARGV[4] == '1' and 0 or max(4, min(MOST_LOOKS, floor(LOOKS / max(1, #listed / 2))))
for i = 1, #listed, 2 do
  local row = lib.lane_figures(listed[i], looks)
  row.used = listed[i + 1]
  for name in pairs(row.names) do looked_names[name] = true end
  lanes[#lanes + 1] = row
end

local heard = {} -- failures that are not muted, by fingerprint and name

local function hear(field, times)
  local fingerprint, name = string.match(field, '^@loud|([^|]*)|(.*)$')
  if not fingerprint then return end
  local names = heard[fingerprint] or {}
  heard[fingerprint], names[name] = names, (names[name] or 0) + (lib.number_of(times) or 0)
end

local function minute(ago)
  local reply = call('HGETALL', minute_key(ago))
  local fields = {}
  for i = 1, #reply, 2 do -- the others with @ are for the history
    if string.byte(reply[i]) ~= 64 then fields[reply[i]] = lib.number_of(reply[i + 1]) else hear(reply[i], reply[i + 1]) end
  end
  return fields
end

local this_minute, last_minute = minute(0), minute(1)

-- Of names that wait and ended no run within two minutes: the runs and their ms in the latest minute that has any.
local EARLIER, MOST_NAMES = 30, 20
local earlier, count = {}, 0
for name in pairs(looked_names) do
  local field = 'ms|' .. name
  if not (this_minute[field] or last_minute[field]) and count < MOST_NAMES then
    count = count + 1
    for ago = 2, EARLIER do
      local succeeded, failed, ms = unpack(call('HMGET', minute_key(ago), 'ok|' .. name, 'err|' .. name, field))
      if lib.number_of(ms) then
        earlier[name] = { (lib.number_of(succeeded) or 0) + (lib.number_of(failed) or 0), lib.number_of(ms) }
        break
      end
    end
  end
end

-- Indexes that the figures do not need are read, too: a broken one is found before a script needs it.
local UNREAD = { 'lanes:ready', 'names', 'tags', 'errors' }
for _, index in ipairs(UNREAD) do call('ZCARD', P .. ':' .. index) end
local seq = call('GET', P .. ':seq')
if not lib.number_of(seq or 0) then ctx.wrong_types[#ctx.wrong_types + 1] = P .. ':seq holds no number' end

local beat, grace, tick, named, named_type, named_at, loss, fault, undelivered =
  unpack(call('HMGET', P .. ':clock', 'beat', 'grace', 'tick', 'named', 'named_type', 'named_at', 'loss', 'fault', 'undelivered'))

-- The broken key that a script met last, while it still exists with the same wrong type.
local NAMED_MS = 600000
local key = now - (lib.number_of(named_at) or 0) < NAMED_MS and named
if key and not ctx.seen_wrong[key] and redis.call('TYPE', key).ok == named_type then
  ctx.wrong_types[#ctx.wrong_types + 1] = key .. ' is a ' .. named_type .. ', and scripts cannot use it'
end
local figures = {
  taken = now, states = states, oldest = oldest, lanes = lanes, kinds = lib.ready_of_kinds(states.pending),
  trashed = call('ZCARD', P .. ':trashed'), workers = call('ZCARD', P .. ':workers'), idle = call('ZCARD', P .. ':idle'),
  overdue = call('ZCOUNT', P .. ':agenda', '-inf', now - 5000),
  clock = { beat = lib.number_of(beat), grace = lib.number_of(grace), tick = lib.number_of(tick) },
  seq = seq or '0', loss = loss or '', fault = fault or '', undelivered = undelivered or '',
  failing_work = lib.failing_work(), minute = this_minute, before = last_minute,
  earlier = earlier, paused_names = lib.paused_figures(100), broken = ctx.wrong_types,
}
lib.command_figures(figures)
lib.follow_up_figures(figures)
lib.schedule_figures(figures)
lib.mark_counts(figures, ARGV[2] ~= '')
lib.error_counts(figures, heard)
if states.pending > 0 then lib.usual_counts(figures) end
for _, each in pairs(lib.hooks.show) do if each.figures then each.figures(figures, tonumber(ARGV[1])) end end
if ARGV[2] ~= '' then lib.note_gauges(figures) end
figures = cjson.encode(figures)
if ARGV[2] ~= '' then call('SET', P .. ':snapshot', figures, 'EX', 600) end
return figures
