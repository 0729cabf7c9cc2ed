#!lua flags=allow-oom
-- send_again: an operator sends callbacks again, now or each at its time, and to another address if they get arguments.
-- KEYS: 1 the pool's prefix
-- ARGV: 1 token of this action, 2 who, 3 lane of the other address ('' = the same), 4 its settings (see
--       job_lane_settings.lua), 5 the states that allow a retry (separated by commas), 6 rules; for each callback: id, new
--       arguments ('' = the same), ms from now at which it starts.
-- Reply: for each: word (OK REPEAT REFUSED GONE), its state now, a detail, as of the script control.
-- Transitions: retry, run_now, postpone.
--@needs circuits job_lane_settings lanes operator_action operator_verbs phases store_helpers transitions wakeup

local lane, settings, reply, later = ARGV[3], ARGV[4], {}, {}
local RETRY = { verb = 'retry', allowed = lib.states_in(ARGV[5]) }
local RUN = { verb = 'run_now', allowed = { postponed = true } }
local EDIT = { verb = 'edit', allowed = { pending = true } }
for _, action in ipairs({ RETRY, RUN, EDIT }) do action.token, action.who = ARGV[1], ARGV[2] end

-- One that is ready goes to the other address in its turn. What cannot be sent again is refused by the verb.
local function action_of(record, arguments)
  if record[F.state] == 'postponed' then return RUN end
  return record[F.state] == 'pending' and arguments ~= '' and EDIT or RETRY
end

local changed = false

local function send(id, arguments, wait)
  local record = lib.read_record(id)
  if record and record[F.kind] ~= 'callback' then return 'REFUSED', record[F.state], 'it is not a callback' end
  if not (record and CLASS[record[F.state]]) then return lib.act_on(id, RETRY, record) end
  local action = action_of(record, arguments)
  if action.allowed[record[F.state]] and record[F.operation] ~= action.token then
    if arguments ~= '' then lib.circuits.leave(id) end
    if lane ~= '' and lane ~= record[F.lane] then
      lib.operator_verbs.move(id, record, lane)
      record[F.lane], record[F.lane_settings] = lane, settings
      call('HSET', lib.task_key(id), F.lane_settings, settings)
    end
    if action == RUN and arguments ~= '' then lib.operator_verbs.edit(id, record, arguments) end
  end
  action.value = action == RUN and '' or arguments
  local word, state, detail = lib.act_on(id, action, record)
  if word == 'OK' and action ~= EDIT and wait > 0 then later[#later + 1] = { id, record, wait, #reply + 2 } end
  return word, state, detail
end

lib.need_agenda()
if lane ~= '' then
  lib.need_lane(lane)
  lib.job_lanes.open(lane, settings)
end
for i = 7, #ARGV, 3 do
  local word, state, detail = send(ARGV[i], ARGV[i + 1], tonumber(ARGV[i + 2]))
  changed = changed or word == 'OK'
  reply[#reply + 1] = word; reply[#reply + 1] = state; reply[#reply + 1] = detail or ''
end
-- A second move of a task needs the first one to be written.
lib.flush_all()
for _, each in ipairs(later) do
  local id, record, wait, place = unpack(each)
  record[F.state] = 'pending'
  reply[place] = lib.operator_verbs.postpone(id, record, '+' .. lib.text(wait))
end
lib.settle_up()
if changed then lib.wake(ctx.brought) end
return reply
