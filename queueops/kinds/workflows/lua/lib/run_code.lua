-- Versions of the code: a run whose history does not fit the code of a worker is left to a worker that has the code of its last
-- step, as long as one is alive. Field `vh` has that version; a heartbeat has the version of its worker among its facts.
--@needs handover lanes outcomes phases store_helpers transitions

lib.run_code = {}

local ALIVE_MS, AGAIN_MS, MOST = 20000, 500, 100 -- a worker that lives is heard of every ten seconds, or more often
local LEFT = 'its last step was made by other code, and a worker with that code is alive'

local function makes_steps(kinds)
  if kinds == '' then return true end
  local list = ',' .. kinds .. ','
  if string.find(list, ',!workflow,', 1, true) then return false end
  return string.sub(kinds, 1, 1) == '!' or string.find(list, ',workflow,', 1, true) ~= nil
end

-- A live worker of all lanes with this version, and whether it waits for work. One that waits is preferred.
local function find_worker(code)
  local told, found = '"workflow code":"' .. code .. '"', nil
  for _, worker in ipairs(lib.safe_call('ZREVRANGEBYSCORE', P .. ':workers', '+inf', now - ALIVE_MS, 'LIMIT', 0, MOST)) do
    local _, state, lanes, kinds, facts = lib.values_of(P .. ':worker:' .. worker, 'state', 'lanes', 'kinds', 'facts')
    if state == 'live' and (lanes or '') == '' and makes_steps(kinds or '') and string.find(facts or '', told, 1, true) then
      if lib.is_waiting(worker) then return worker, true end
      found = worker
    end
  end
  return found, false
end

-- Gives the lease of a run back for a worker that has the code of its last step. Returns whether there is one: the step of this
-- call does not count then. `code`: the version of the worker that made it.
function lib.run_code.leave_to_other(id, record, code)
  if not record[F.step_code] or record[F.step_code] == code then return false end
  local worker, waits = find_worker(record[F.step_code])
  if not worker then return false end
  if record[F.reason] ~= LEFT then lib.log_line(id, { k = 'log', worker = record[F.worker], text = LEFT }) end
  lib.leave_lease(id, record, 'postponed')
  call('HSET', lib.task_key(id), F.state, 'postponed', F.due, lib.text(now + AGAIN_MS), F.reason, LEFT)
  lib.schedule(id, now + AGAIN_MS)
  lib.flush(); lib.flush_lanes()
  ctx.moved[id] = true -- an event of this very call may move it again
  local ready = waits and not record[F.suspended_since] and lib.read_record(id)
  if ready then lib.hand_to(worker, id, ready) end
  return true
end
