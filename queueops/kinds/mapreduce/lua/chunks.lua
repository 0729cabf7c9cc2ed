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
--@needs caller_news chunk_bulk_verbs chunk_sets chunk_verbs lanes outbox_dispatch phases store_helpers
--@needs transitions wakeup

ctx.task, ctx.verb, ctx.value, ctx.whole, ctx.who = ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[6]
lib.need_agenda()

local token = ARGV[7]
local more = string.sub(token, -1) == '+'

-- The calls of one action write one line of the log together.
local function tell(changed)
  local told, key = ctx.verb .. ' chunks', lib.task_key(ctx.task) .. SUBKEY.log
  local operation, before = string.match(token, '^(.-:)(%d+)')
  if before ~= '0' and operation and string.sub(ctx.parent.ot or '', 1, #operation) == operation then
    local last = call('LINDEX', key, -1) or ''
    if string.find(last, '"operator"', 1, true) and string.find(last, '"' .. told .. '"', 1, true) then call('RPOP', key) end
  end
  lib.log_line(ctx.task, { k = 'operator', verb = told, who = ctx.who, value = changed + (tonumber(before or 0)) })
end

ctx.parent = lib.read_record(ctx.task)
if not ctx.parent then return { 0, 0, '', 0, {} } end
local changed, left, refused = 0, 0, {}
if ctx.parent.ot == token then
  changed = #ARGV - 7
  left = ctx.whole ~= '' and call('ZCARD', lib.chunk_set(ctx.task, ctx.whole)) or 0
else
  local numbers = {}
  for i = 8, #ARGV do numbers[#numbers + 1] = ARGV[i] end
  if ctx.whole ~= '' then changed, left = lib.mend_whole() else changed, refused = lib.mend(numbers) end
  lib.flush_chunks()
  local went_on = ctx.whole == '' and not more and lib.let_go_on()
  if more then lib.hold() end
  if changed > 0 or went_on then
    if ctx.dropped ~= 0 then call('HINCRBY', lib.task_key(ctx.task), F.chunks_dropped, ctx.dropped) end
    call('HSET', lib.task_key(ctx.task), F.operation, token)
    if changed > 0 then tell(changed + (ctx.whole ~= '' and lib.redone[ctx.verb] and left or 0)) end -- what is left goes on by itself
    if ctx.gathering[ctx.task] == nil then ctx.gathering[ctx.task] = false end
  end
  lib.settle_up()
  lib.deliver(-1)
  lib.wake(ctx.brought)
end
local _, state = lib.values_of(lib.task_key(ctx.task), F.state)
local reply = { changed, left, state or '', ctx.unfit, ctx.ended_wholes }
for _, part in ipairs(refused) do reply[#reply + 1] = part end
return reply
