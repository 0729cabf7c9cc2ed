#!lua
-- keep_marks: the watchdog reports the alarms of a pool and the starts of its workers, for the history. An alarm that was not
-- reported before has begun; one that was not reported for a while has ended when it was last reported. A full store refuses it.
-- KEYS: 1 the pool's prefix
-- ARGV: 1 how many marks a list keeps, 2 for how many ms, 3 after how many ms without a report an alarm has ended, 4 how many
--       alarms; of each: what it is about, its level, its text, its sentence; then of each start: its time and its mark.
-- Reply: how many alarms began, how many ended.
-- Transitions: none.
--@needs store_helpers

local MOST_OPEN, PARTED = 200, '\30' -- the sentence stands behind the text, as a JSON list
local most, kept, gone, count = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])
local known, open, size = call('HGETALL', P .. ':alarms'), {}, 0
for i = 1, #known, 2 do
  local begun, seen, level, said = string.match(known[i + 1], '^(%d+) (%d+) (%a*) (.*)$')
  local text, sentence = string.match(said or '', '^(.*)' .. PARTED .. '(%[.*)$')
  open[known[i]] = { begun = lib.number_of(begun) or 0, seen = lib.number_of(seen) or 0, level = level or '',
    text = text or said or '', sentence = sentence or '' }
  size = size + 1
end

local function mark(kind, about, alarm)
  return cjson.encode({ kind, about, alarm.text, alarm.level, 0, '', '', alarm.sentence })
end

local marks, reported, fields, ended = {}, {}, {}, {}
for i = 0, count - 1 do
  local at = 5 + 4 * i
  local about, alarm = ARGV[at], { level = ARGV[at + 1], text = ARGV[at + 2], sentence = ARGV[at + 3] }
  local was = open[about]
  if not reported[about] and (was or size < MOST_OPEN) then
    reported[about] = true
    if not was or was.begun == 0 then
      marks[#marks + 1], marks[#marks + 2] = lib.text(now), mark('alarm', about, alarm)
      size = size + (was and 0 or 1)
    end
    fields[#fields + 1] = about
    fields[#fields + 1] = table.concat({ lib.text(was and was.begun > 0 and was.begun or now), lib.text(now), alarm.level,
      alarm.text .. (alarm.sentence ~= '' and PARTED .. alarm.sentence or '') }, ' ')
  end
end
local begun = #marks / 2
for about, was in pairs(open) do
  if not reported[about] and now - was.seen > gone then
    ended[#ended + 1] = about
    if was.begun > 0 then
      marks[#marks + 1], marks[#marks + 2] = lib.text(was.seen), mark('end', about, was)
    end
  end
end
local starts = {}
for i = 5 + 4 * count, #ARGV do starts[#starts + 1] = ARGV[i] end

local function keep(list, rows)
  local key = P .. ':marks:' .. list
  if #rows > 0 and lib.call_sliced('ZADD', key, rows) then
    call('ZREMRANGEBYRANK', key, 0, -most - 1)
    call('ZREMRANGEBYSCORE', key, '-inf', now - kept)
    call('PEXPIRE', key, kept)
  end
end

keep('alarms', marks)
keep('starts', starts)
if #ended > 0 then lib.call_sliced('HDEL', P .. ':alarms', ended) end
if #fields > 0 and lib.call_sliced('HSET', P .. ':alarms', fields) then call('PEXPIRE', P .. ':alarms', kept) end
return { begun, #ended }
