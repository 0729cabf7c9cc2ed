-- Parents of composites: how a chain or group handles the ends of its children. `#children` lists the children in order.
-- `#open` is the set of children that have not ended. Only the call that removes a child from `#open` counts its end.
-- The composite ends when `#open` is empty. A child in another pool is written `<id>#<pool>`.
local family = {}
local MOST_CHILDREN = 500
local allowance = MOST_CHILDREN -- how many this call may still touch
local moved, ended_leaves = {}, {} -- ids that moved since the last flush; by root how much its leaves went on, and grew

function family.children_of(id) return TASK .. id .. '#children' end
function family.open_of(id) return TASK .. id .. '#open' end

-- Moves are collected and written together. A batch holds at most one move of each task.
function family.shift(id, record, state)
  if moved[id] then flush(); flush_lanes(); moved = {} end
  moved[id] = true
  move(id, record.s, state, record.n, record.k)
end

function family.finish(id, record, state, ...)
  if state == 'succeeded' and not record.pi and record.k ~= 'iterator' then family.complete(id) end
  family.shift(id, record, state)
  safe_call('HSET', task_key(id), 's', state, 'e', NOW, ...)
  if state == 'succeeded' then safe_call('DEL', task_key(id) .. '#results') end
  if record.pp then family.write_progress(id) end
  schedule(id, now + (number_of(record.kp) or RULES['keep_' .. state]))
  tell_end(id, record, state)
  if record.nx then start_next(id) end
end

function family.complete(id)
  local total = safe_call('HGET', task_key(id), 'to')
  if total then safe_call('HSET', task_key(id), 'pr', total) end
end

function family.reason(child)
  local begin = 'its child ' .. child.ref .. (child.state == 'cancelled' and ' was cancelled' or ' failed')
  local rest = (child.y or '') ~= '' and ': ' .. child.y or ''
  if #begin + #rest > 400 then rest = string.gsub(rest, '^: .*(its child .*)$', ': ... %1') end -- what began it stands last
  return shortened(begin .. rest, 500)
end

-- Copies the error of a child. If the child lost its worker, only a fingerprint exists.
function family.keep_error(id, error, fingerprint)
  if error and error ~= '' then safe_call('HSET', task_key(id), 'er', error) end
  if fingerprint and fingerprint ~= '' then safe_call('HSET', task_key(id), 'ef', fingerprint) end
end

function family.fail(id, record, reason, error, fingerprint)
  family.keep_error(id, error, fingerprint)
  list_failed(id, fingerprint)
  family.finish(id, record, 'failed', 'y', reason)
  family.cancel_children(id)
end

function family.end_group(id, record)
  local size, failed = (number_of(record.sz) or 0) + 1, number_of(record.nf) or 0
  if failed > 0 and record.of == 'continue' then
    local reason = failed .. ' of its ' .. record.cc .. ' children failed; the first: ' .. (record.y or '')
    family.fail(id, record, reason, record.er, record.ef)
  elseif size > RULES.payload_limit then
    local reason = 'its list of results came to ' .. text(size) .. ' bytes, the limit is ' .. text(RULES.payload_limit)
    family.fail(id, record, reason .. '. Store the data elsewhere, return references.')
  else
    local joined = family.joined(id)
    local lost = family.lost_list(id)
    if lost then return family.fail(id, record, lost) end
    family.finish(id, record, 'succeeded', 're', joined)
  end
end

function family.chain_child_ended(id, record, child)
  if child.far then family.keep_result(id, child) end
  if child.state ~= 'succeeded' then return family.fail(id, record, family.reason(child), child.er, child.ef) end
  if record.rs then return end -- it is being taken up again, and goes on when that is done
  -- After a retry, a later part may end first. Then the first open part is next.
  if record.rn then return family.proceed(id, read_record(id)) end
  local order = safe_call('ZSCORE', family.children_of(id), child.ref)
  if not order then return family.fail(id, record, family.lost_list(id) or child.ref .. ' is not among its children') end
  local next_one = safe_call('ZRANGEBYSCORE', family.children_of(id), '(' .. order, '+inf', 'LIMIT', 0, 1)
  if next_one[1] then return family.activate(next_one[1], id, record, child.re) end
  family.finish(id, record, 'succeeded', 're', child.re)
end

function family.group_child_ended(id, record, child)
  if child.state == 'succeeded' then
    family.collect_success(id, record.of, child.ref, child.re)
  elseif record.of == 'outcomes' then
    family.collect(id, child.ref, family.outcome_of(child))
  elseif record.of ~= 'continue' then
    return family.fail(id, record, family.reason(child), child.er, child.ef)
  elseif safe_call('HINCRBY', task_key(id), 'nf', 1) == 1 then
    safe_call('HSET', task_key(id), 'y', family.reason(child))
    family.keep_error(id, child.er, child.ef)
  end
  if safe_call('EXISTS', family.open_of(id)) == 0 and not record.rs then family.end_group(id, read_record(id)) end
end

-- Handles the end of a child. Ignored if the parent is gone, has another generation, or is in another round.
-- If the parent has not begun, the report is handled when it begins.
local function child_ended(child)
  if child.again then return family.come_again(child.ref) end
  if child.pool then return family.tell_parent(child) end
  local id, fields = child.parent, { 's', 'u', 'k', 'n', 'of', 'kp', 'wt', 'nx', 'pi', 'cc', 'rs', 'rn', 'tp', 'ro', 'pp', 'kt' }
  local row, record = fields_of(task_key(id), unpack(fields)), {}
  for i, field in ipairs(fields) do record[field] = row and row[i] or nil end
  local is_old = record.u ~= child.uid or (child.far and family.hear_last(id, record, child))
  if is_old then return count_minute('cmd|dropped', 1) end
  if record.s == 'waiting' or (record.s == 'postponed' and record.cc) then return end
  if safe_call('SREM', family.open_of(id), child.ref) == 0 then return end
  if child.kind ~= 'chain' and child.kind ~= 'group' then family.count_leaf(id, record, child) end
  if record.k == 'iterator' then return family.iterator_child_ended(id, record, child) end
  if record.s ~= 'idle' then return end
  if record.k == 'chain' then family.chain_child_ended(id, record, child) else family.group_child_ended(id, record, child) end
end

function family.settle()
  flush(); flush_lanes()
  local number = 1
  repeat
    while ended_children[number] do
      child_ended(ended_children[number])
      number = number + 1
    end
    family.iterators_go_on()
  until not ended_children[number]
  ended_children = {}
  family.write_progress()
end

-- Writes the progress of each root. A leaf that ends after its parent does not count (`uc`).
-- If a root has succeeded and is not a part itself, all of its total is done.
function family.write_progress(ended)
  for root, steps in pairs(ended_leaves) do
    local row = fields_of(task_key(root), 'cc', 'to', 'pp', 's', 'pi', 'pr', 'pl')
    if row and row[1] then
      local total = rounded(amount(row[2]) + steps[2])
      local is_whole = row[4] == 'succeeded' and not row[5]
      local done = shown(is_whole and total or rounded(amount(row[6]) + steps[1]))
      safe_call('HSET', task_key(root), 'pr', done)
      if steps[2] ~= 0 then safe_call('HSET', task_key(root), 'to', shown(total), 'pl', row[7] or row[2] or 0) end
      if is_listened() then
        tell_event(root, { done = done, total = shown(total) })
      end
      if row[3] and root ~= ended then family.tell_progress(root, done) end
    end
  end
  ended_leaves = {}
end
