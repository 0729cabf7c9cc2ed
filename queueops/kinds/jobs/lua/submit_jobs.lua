#!lua
-- submit_jobs: creates jobs, and gives their lanes a limit and a rate in the same call. The first push to a lane decides
-- them: later ones, and what an operator or the settings have set, stay as they are.
-- KEYS: 1 the pool's prefix
-- ARGV: 1 and 2 the lease of the running task that submits them (see `may_push`; both '' without one), 3 number of lanes;
--       for each: lane, the text that it stands for, its settings (see job_lane_settings.lua), proxy
--       ('' = none), and the settings again if it is a destination (else ''); then the number of jobs;
--       for each: id, token ('' = the id was made for this job), due ('' now, '+ms', or epoch ms), number of field values,
--       the fields of the record (name, value, ...).
-- Reply: for each job its word and its uid. OK: created; REPEAT: this very push came before; EXISTS: the id is in use.
--        Or, if nothing was created: DRAINING and a lane that takes no jobs; UNREADABLE and an id whose record cannot be read;
--        DIFFERS and an id whose job has another fingerprint; or STALE.
-- Transitions: push, postpone.
--@needs aggregations conflicts fence job_lane_settings lanes store_helpers transitions wakeup

if ARGV[2] ~= '' and not lib.may_push(ARGV[1], ARGV[2]) then return { 'STALE', '' } end
local position = 3

local function take(count)
  local taken = { unpack(ARGV, position, position + count - 1) }
  position = position + count
  return taken
end

local function read_job()
  local id, token, due, count = unpack(take(4))
  local spec = { id = id, policy = token == '' and 'new' or 'ignore', token = token, fields = take(tonumber(count)), values = {} }
  if due ~= '' then spec.due = string.sub(due, 1, 1) == '+' and now + tonumber(due) or tonumber(due) end
  if spec.due and spec.due <= now then spec.due = nil end
  for i = 1, #spec.fields, 2 do spec.values[spec.fields[i]] = spec.fields[i + 1] end
  return spec
end

-- An id that a caller chose means one job while its record is kept: an ended one does not run again.
local function known(record, token)
  return record and { record[F.token] == token and 'REPEAT' or 'EXISTS', tonumber(record[F.uid]) }
end

-- The fingerprint stands for all that was handed in; a job without one is the same as any.
local function differs(record, fingerprint)
  return fingerprint and record[F.job_fingerprint] and record[F.job_fingerprint] ~= fingerprint
end

local lanes, jobs, reply = {}, {}, {}
for i = 1, tonumber(take(1)[1]) do
  lanes[i] = take(5)
  local lane = unpack(lanes[i])
  lib.need_lane(lane)
  if call('HGET', lib.lane_key(lane) .. SUBKEY.conf, 'drain') == '1' then return { 'DRAINING', lane } end
  call('ZCARD', lib.lane_key(lane))
end
for i = 1, tonumber(take(1)[1]) do
  local spec = read_job()
  if spec.token ~= '' then
    local record = lib.read_record(spec.id)
    if record == false then return { 'UNREADABLE', spec.id } end
    if record and differs(record, spec.values.fp) then return { 'DIFFERS', spec.id } end
    spec.known = known(record, spec.token)
  end
  jobs[i] = spec
end
lib.need_agenda(); call('ZCARD', P .. ':lanes:ready')

for _, lane in ipairs(lanes) do lib.job_lanes.declare(unpack(lane)) end
local made = {}
for _, spec in ipairs(jobs) do
  local word, uid = unpack(spec.known or { lib.place(spec) })
  if word == 'OK' and spec.values.k == 'job' then lib.append(made, spec.values.l or 'default', spec.id) end
  reply[#reply + 1] = word; reply[#reply + 1] = uid
end
lib.aggregations.list(made)
lib.flush()
lib.flush_lanes()
lib.wake(ctx.brought)
return reply
