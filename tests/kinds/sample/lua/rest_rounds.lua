#!lua flags=allow-oom
-- rest_rounds: lets a task of the sample kind rest before its next round, or ends its rest.
-- KEYS: 1 the pool's prefix
-- ARGV: 1 task, 2 `rest` or `wake`
-- Reply: word (OK, REFUSED: it is in another state, GONE), the state of the task now.
-- Transitions: rest, wake.
--@needs lanes numbers outbox_dispatch phases store_helpers transitions wakeup

local id, rests = ARGV[1], ARGV[2] == 'rest'
local from, to = rests and 'pending' or 'resting', rests and 'resting' or 'pending'
local record = lib.read_record(id)
if not record or record[F.kind] ~= 'sample' then return { 'GONE', '' } end
if record[F.state] ~= from then return { 'REFUSED', record[F.state] } end
local lane = record[F.lane] or 'default'
lib.move(id, from, to, record[F.name], record[F.kind], record[F.lane])
if rests then lib.leave_lane(lane, id, record[F.name]) else lib.enter_lane(lane, id, record[F.priority], lib.next_number()) end
call('HSET', lib.task_key(id), F.state, to)
lib.settle_up()
lib.deliver(-1)
lib.wake(ctx.brought)
return { 'OK', to }
