#!lua flags=no-writes
-- schedules: all schedules of a pool, or only the ripe ones. Ripe: its tick has come, or its queued run need not wait any
-- more.
-- KEYS: 1 the pool's prefix
-- ARGV: 1 which (all, ripe, one), 2 how many at most, 3 the one
-- Reply: time, time of the first tick to come ('' none), how many schedules have runs put off, rows: id, time of its next
--        tick, runs put off, state of the task that it created last, fields.
-- Transitions: none.
--@needs schedules store_helpers

local most, rows, put_off = tonumber(ARGV[2]), {}, 0

local function add_row(id, score)
  local reply = redis.pcall('HGETALL', lib.schedule_key(id))
  local fields, last = reply.err and {} or reply, nil
  for i = 1, #fields, 2 do if fields[i] == 'lt' then last = fields[i + 1] end end
  local _, state
  if last then _, state = lib.values_of(lib.task_key(last), F.state) end
  local queue = redis.pcall('LLEN', lib.schedule_key(id) .. SUBKEY.queue)
  rows[#rows + 1] = { id, score, type(queue) == 'number' and queue or 0, state or '', fields }
end

if ARGV[1] == 'one' then
  local score = call('ZSCORE', ctx.SCHEDULES, ARGV[3])
  if score then add_row(ARGV[3], score) end
elseif ARGV[1] == 'all' then
  local ids = call('ZRANGE', ctx.SCHEDULES, 0, most - 1, 'WITHSCORES')
  for i = 1, #ids, 2 do add_row(ids[i], ids[i + 1]) end
else
  local ids = call('ZRANGEBYSCORE', ctx.SCHEDULES, '-inf', now, 'WITHSCORES', 'LIMIT', 0, most)
  for i = 1, #ids, 2 do add_row(ids[i], ids[i + 1]) end
  local queued = redis.pcall('SRANDMEMBER', ctx.QUEUED, most) -- what is of another type is empty
  for _, id in ipairs(queued.err and {} or queued) do
    local score, is_hash, last, paused, orphaned, tick_run =
      call('ZSCORE', ctx.SCHEDULES, id), lib.values_of(lib.schedule_key(id), 'lt', 'pa', 'og', 'lr')
    if score and is_hash and not (paused or orphaned) then
      put_off = put_off + 1
      if tonumber(score) > now and not lib.unended(tick_run, last) then add_row(id, score) end
    end
  end
end
local first = call('ZRANGEBYSCORE', ctx.SCHEDULES, '(' .. NOW, '(+inf', 'WITHSCORES', 'LIMIT', 0, 1)
return { now, first[2] or '', put_off, rows }
