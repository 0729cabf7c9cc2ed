#!lua flags=allow-oom
-- chunks: an operator mends the chunks of one map-reduce task: compare and set, at most 500 at a time.
-- KEYS: 1 the pool's prefix
-- ARGV: 1 task, 2 verb (retry, postpone, drop, skip, edit, redo, set, release, speculate), 3 value (edit, redo: the data;
--       set: most bytes of data, a colon, the fields as an object; postpone: epoch ms, or + and ms from now), 4 whole
--       set ('' = the numbers below, else a state of which the first are meant), 5 rules, 6 who, 7 token (of several
--       calls: the action's, a colon, how many were changed before, '+' if more follow), 8.. numbers
-- Reply: how many were changed, how many of the whole set are left, state of the task ('' = gone), how many of the whole
--        set kept their data, composites that ended (id, kind, name, state, root); then for each refused one its number and
--        its state ('' = gone).
-- Transitions: retry, drop, skip, release of chunks; reprocess, gather of the task.
--@include context
--@include tasks
--@include composites
--@include run_time_stats
--@include chunk_sets
--@include second_run
--@include chunk_outcomes
--@include json_fields
--@include chunk_bulk_verbs
--@include reopen
--@include chunk_verbs

need_agenda()

local token = ARGV[7]
local more = string.sub(token, -1) == '+'

-- The calls of one action write one line of the log together.
local function tell(changed)
  local told, key = verb .. ' chunks', task_key(task) .. '#log'
  local operation, before = string.match(token, '^(.-:)(%d+)')
  if before ~= '0' and operation and string.sub(parent.ot or '', 1, #operation) == operation then
    local last = call('LINDEX', key, -1) or ''
    if string.find(last, '"operator"', 1, true) and string.find(last, '"' .. told .. '"', 1, true) then call('RPOP', key) end
  end
  log_line(task, { k = 'operator', verb = told, who = who, value = changed + (tonumber(before or 0)) })
end

parent = read_record(task)
if not parent then return { 0, 0, '', 0, {} } end
local changed, left, refused = 0, 0, {}
if parent.ot == token then
  changed = #ARGV - 7
  left = whole ~= '' and call('ZCARD', chunk_set(task, whole)) or 0
else
  local numbers = {}
  for i = 8, #ARGV do numbers[#numbers + 1] = ARGV[i] end
  if whole ~= '' then changed, left = mend_whole() else changed, refused = mend(numbers) end
  flush_chunks()
  local went_on = whole == '' and not more and let_go_on()
  if more then hold() end
  if changed > 0 or went_on then
    if dropped ~= 0 then call('HINCRBY', task_key(task), 'xd', dropped) end
    call('HSET', task_key(task), 'ot', token)
    if changed > 0 then tell(changed + (whole ~= '' and redone[verb] and left or 0)) end -- what is left goes on by itself
    if gathering[task] == nil then gathering[task] = false end
  end
  settle_up()
  close_outbox(-1)
  wake(brought)
end
local row = fields_of(task_key(task), 's')
local reply = { changed, left, row and row[1] or '', unfit, ended_wholes }
for _, part in ipairs(refused) do reply[#reply + 1] = part end
return reply
