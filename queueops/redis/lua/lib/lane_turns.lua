-- Turns of lanes: the lane of what belongs to one task may have a key, in the field `turn` of its settings, as a record has one.
-- Then it has a turn while it is in the round, and else waits under the key. So the lanes of a key take turns, whatever they
-- hold. A claim takes as many members as turns are left, and the turn ends: the lane stands behind those that wait.
--@needs limits minute_counts numbers store_helpers

local LOOKED = 20 -- lanes behind one that cannot use its turn

-- How many members of the lane may begin now.
function lib.turns_of_lane(lane, turn)
  local scope = lib.scope_of(turn)
  if lib.try('SISMEMBER', lib.key_of_limit(scope) .. SUBKEY.turn, lane) ~= 1 then return 0 end
  return 1 + lib.turns_left(scope, turn)
end

-- Takes a turn for a lane that has something to begin, or gives back what another one has of the key. Returns whether it has
-- a turn.
function lib.hold_turn(lane, turn, wants)
  local key = lib.key_of_limit(lib.scope_of(turn))
  local has, waits = lib.try('SISMEMBER', key .. SUBKEY.turn, lane) == 1, lib.try('ZSCORE', key .. SUBKEY.waiting, lane)
  if wants then
    local place = (100 - (lib.number_of(turn[F.priority]) or 0)) * BAND
    return has or not waits and lib.take_turn(lane, turn, place + lib.next_number())
  end
  if has or waits then lib.end_turn(lane, turn) end
  return false
end

-- These members of the lane begin. It keeps a turn if one is left and no other lane waits for it.
function lib.begin_of_lane(lane, turn, ids)
  local scope = lib.scope_of(turn)
  local key = lib.key_of_limit(scope)
  lib.begin_turns(scope, turn, lane, ids)
  if call('EXISTS', key .. SUBKEY.waiting) == 0 and lib.turns_left(scope, turn) > 0 then lib.try('SADD', key .. SUBKEY.turn, lane) end
end

-- The lane cannot use its turn now. The first lane that waits and `can` use it gets it, and this one takes that place.
-- Returns that lane; the caller refreshes both.
function lib.swap_turn(lane, turn, can)
  local key = lib.key_of_limit(lib.scope_of(turn))
  local waiting = lib.try('ZRANGE', key .. SUBKEY.waiting, 0, LOOKED - 1, 'WITHSCORES') or {}
  for i = 1, #waiting, 2 do
    local other, score = waiting[i], waiting[i + 1]
    if can(other) then
      if lib.try('SREM', key .. SUBKEY.turn, lane) ~= 1 then return nil end
      lib.try('SADD', key .. SUBKEY.turn, other)
      lib.try('ZREM', key .. SUBKEY.waiting, other)
      lib.try('ZADD', key .. SUBKEY.waiting, score, lane)
      return other
    end
  end
end
