-- Hop of a chain between pools: a part outside of its chain's pool starts the next part itself, by `follow`. At the same
-- time it reports its end to the chain. Without this, each hop would go through the chain's pool.
--@needs outbox parent store_helpers transitions

-- Field `sx`: the successor of a part, sent with the part's turn. The part then starts its successor itself.
-- Empty in a retried chain: the part after it may have ended already, or may not be next.
function lib.family.successor_of(ref, pool, parent, record)
  if record[F.kind] ~= 'chain' or record[F.round] then return {} end
  local order = lib.safe_call('ZSCORE', lib.family.children_of(parent), ref)
  local next_one = order and lib.safe_call('ZRANGEBYSCORE', lib.family.children_of(parent), '(' .. order, '+inf', 'LIMIT', 0, 1)[1]
  local id, home = lib.far(next_one or '')
  return id and { 'sx', home == pool and id or next_one } or {}
end

-- Starts the successor with this part's result: by a command, or directly if it is in this pool.
-- The chain is told of the end at the same time.
function lib.family.lead_on(child)
  local id, pool = lib.far(child.successor)
  if pool then
    return lib.send('follow', pool, id, child.ref, child.uid, child.round, 'pa', child.parent, 'pp', child.pool, 'pv', child[F.result])
  end
  lib.family.follow(child.successor, { pa = child.parent, pp = child.pool, u = child.uid, rn = child.round, pv = child[F.result] })
end

-- Starts a part whose predecessor has succeeded, before the `activate` of the chain arrives. Until then `fo` is set:
-- the part does not report its end, and has no successor. So at most one part starts after the chain has ended.
function lib.family.follow(id, turn)
  local child = lib.read_record(id)
  if not (child and child[F.parent_id] == turn.pa and child[F.parent_pool] == turn.pp and child[F.parent_uid] == turn.u) then
    return 'GONE'
  end
  if (lib.number_of(child[F.parent_round]) or 0) ~= (lib.number_of(turn.rn) or 0) then return 'OLD' end
  if child[F.state] ~= 'waiting' then return 'OK' end
  lib.safe_call('HSET', lib.task_key(id), F.ahead_of_chain, 1)
  lib.family.turn_of(id, child, turn.pv)
  return 'OK'
end
