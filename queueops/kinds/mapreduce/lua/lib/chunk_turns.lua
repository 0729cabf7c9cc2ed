-- Turns of chunks. A task whose class has a `limit` or a `rate` has a key, which all its chunks share. Their lane has turns of
-- it (lane_turns.lua), and so has a second run, in the lane of tasks. A chunk that runs is in `#active` of the key.
--@needs chunk_lane lanes limits store_helpers transitions

local MOST = 10000 -- chunks of a task whose turns end, or come back, in one call

-- A chunk does not run any more.
function lib.leave_active(lane, ref)
  local turn = lib.lane_conf(lane).turn
  lib.append(ctx.leaving, 'active', ref)
  if turn then lib.end_turn(ref, turn) end
end

local function refs_of(task, numbers, mark)
  local refs = {}
  for i, number in ipairs(numbers) do refs[i] = task .. '#' .. number .. mark end
  return refs
end

-- What runs of the chunks of a task: they are in `#active` of a key. The consistency check finds what is beyond the bound.
function lib.running_chunks(task)
  return refs_of(task, lib.safe_call('ZRANGE', TASK .. task .. '#chunks:active', 0, MOST - 1), '')
end

-- Gives back what the chunks of a task have of their key, for its record goes away.
function lib.end_turns_of_chunks(task, record)
  local turn = lib.turn_of_chunks(record)
  if not turn then return end
  local key = lib.key_of_limit(lib.scope_of(turn))
  local second_runs = refs_of(task, lib.safe_call('SRANDMEMBER', TASK .. task .. '#chunks:twins', MOST), '~')
  lib.end_turn('#' .. task, turn)
  lib.call_sliced('SREM', key .. SUBKEY.active, lib.running_chunks(task))
  lib.call_sliced('SREM', key .. SUBKEY.active, second_runs)
  lib.call_sliced('SREM', key .. SUBKEY.turn, second_runs)
  lib.call_sliced('ZREM', key .. SUBKEY.waiting, second_runs)
end

local function state_of(ref) return (lib.named_fields(TASK .. ref, F.state) or NONE)[F.state] end

-- A lane waits if it has a chunk that may begin, and a second run if it is pending.
function lib.hooks.parts.waits_for_turn(ref)
  if lib.is_own_lane(ref) then
    local conf = lib.lane_conf(ref)
    return conf.turn and not conf.paused and call('EXISTS', lib.lane_key(ref)) == 1, conf.turn or NONE
  end
  local turn = lib.lane_conf('#' .. string.match(ref, '^[^#]*')).turn
  return turn and string.sub(ref, -1) == '~' and state_of(ref) == 'pending', turn or NONE
end

function lib.hooks.parts.check_turn(ref, scope, part)
  local lane = lib.is_own_lane(ref) and ref or '#' .. string.match(ref, '^[^#]*')
  local turn = lib.lane_conf(lane).turn
  if not turn or lib.scope_of(turn) ~= scope then return false end
  if part == SUBKEY.active then return state_of(ref) == 'active' end
  return lib.hooks.parts.waits_for_turn(ref)
end
