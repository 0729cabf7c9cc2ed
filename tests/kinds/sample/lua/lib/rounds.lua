-- Sample kind: a task that runs three times. The list `#rounds` beside its record has the value of each round.
--@needs outcomes store_helpers transitions

local ROUNDS = 3

local function rounds_of(id) return call('LLEN', lib.task_key(id) .. SUBKEY.rounds) end

function lib.hooks.settle.sample.succeed(id, _, value)
  call('RPUSH', lib.task_key(id) .. SUBKEY.rounds, value)
  call('HINCRBY', lib.task_key(id), 'zr', 1)
  if rounds_of(id) == ROUNDS then return nil end
  local whole = lib.read_record(id)
  if not whole then return false end
  lib.outcomes.release(id, whole)
  return true
end

function lib.hooks.retry.sample.reset(id)
  call('DEL', lib.task_key(id) .. SUBKEY.rounds)
  call('HDEL', lib.task_key(id), 'zr')
end

function lib.hooks.retry.sample.refuse_verb(_, verb)
  if verb == 'edit' then return 'its rounds have no arguments' end
end

function lib.hooks.ending.sample.note(id, _, state) lib.log_line(id,
  { k = 'rounds', text = rounds_of(id) .. ' until it was ' .. state }) end

function lib.hooks.check.sample.record(id, record)
  if record[F.state] == 'succeeded' and rounds_of(id) ~= ROUNDS then
    lib.wrong(id, 'it has succeeded after ' .. rounds_of(id) .. ' rounds')
  end
end
