-- Hop of a chain between pools: a part in another pool than its chain starts the next part itself, by `follow`.
-- At the same time it reports its end to the chain. Otherwise the chain's pool would be a third pool in between.

-- The successor that a part learns with its turn, if the chain is in another pool: the part tells the successor itself.
-- Empty in a retried chain: there the next part may have ended, or may not be the next one.
function family.successor_of(ref, pool, parent, record)
  if record.k ~= 'chain' or record.rn then return {} end
  local order = safe_call('ZSCORE', family.children_of(parent), ref)
  local next_one = order and safe_call('ZRANGEBYSCORE', family.children_of(parent), '(' .. order, '+inf', 'LIMIT', 0, 1)[1]
  local id, home = far(next_one or '')
  return id and { 'sx', home == pool and id or next_one } or {}
end

-- It is told, or begun when it is here, with what this one gave: the chain hears of the end at the same time.
function family.lead_on(child)
  local id, pool = far(child.successor)
  if pool then
    return send('follow', pool, id, child.ref, child.uid, child.round, 'pa', child.parent, 'pp', child.pool, 'pv', child.re)
  end
  family.follow(child.successor, { pa = child.parent, pp = child.pool, u = child.uid, rn = child.round, pv = child.re })
end

-- The part before it has succeeded. Until the chain says the same, it is ahead of it (`fo`): it tells of its end when that has
-- come, and knows nothing behind it, so no more than one part begins that a chain which is over did not want.
function family.follow(id, turn)
  local child = read_record(id)
  if not (child and child.pi == turn.pa and child.pp == turn.pp and child.pu == turn.u) then return 'GONE' end
  if (number_of(child.po) or 0) ~= (number_of(turn.rn) or 0) then return 'OLD' end
  if child.s ~= 'waiting' then return 'OK' end
  safe_call('HSET', task_key(id), 'fo', 1)
  family.turn_of(id, child, turn.pv)
  return 'OK'
end
