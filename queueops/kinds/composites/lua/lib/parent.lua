-- Parents of composites: how a chain or group handles the ends of its children. `#children` lists the children in order.
-- `#open` is the set of children that have not ended. Only the call that removes a child from `#open` counts its end.
-- The composite ends when `#open` is empty. A child in another pool is written `<id>#<pool>`.
--@needs child_end end_effects generations lanes minute_counts phases rules store_helpers task_end
--@needs transitions

lib.family = {}
lib.MOST_CHILDREN = 500
fresh.allowance = lib.MOST_CHILDREN -- how many this call may still touch

function lib.family.children_of(id) return TASK .. id .. SUBKEY.children end
function lib.family.open_of(id) return TASK .. id .. SUBKEY.open end

function lib.family.finish(id, record, state, ...)
  if state == 'succeeded' and not record[F.parent_id] and record[F.kind] ~= 'iterator' then lib.family.complete(id) end
  lib.shift(id, record, state)
  lib.safe_call('HSET', lib.task_key(id), F.state, state, F.ended, NOW, ...)
  if state == 'succeeded' then lib.safe_call('DEL', lib.task_key(id) .. SUBKEY.results) end
  if record[F.parent_pool] then lib.family.write_progress(id) end
  lib.schedule(id, now + (lib.number_of(record[F.keep]) or ctx.RULES['keep_' .. state]))
  lib.tell_end(id, record, state)
  if record[F.next] then lib.start_next(id) end
end

function lib.family.complete(id)
  local total = lib.safe_call('HGET', lib.task_key(id), F.total)
  if total then lib.safe_call('HSET', lib.task_key(id), F.progress, total) end
end

function lib.family.reason(child)
  local begin = 'its child ' .. child.ref .. (child.state == 'cancelled' and ' was cancelled' or ' failed')
  local rest = (child[F.reason] or '') ~= '' and ': ' .. child[F.reason] or ''
  if #begin + #rest > 400 then rest = string.gsub(rest, '^: .*(its child .*)$', ': ... %1') end -- what began it stands last
  return lib.shortened(begin .. rest, 500)
end

-- Copies the error of a child. If the child lost its worker, only a fingerprint exists.
function lib.family.keep_error(id, error, fingerprint)
  if error and error ~= '' then lib.safe_call('HSET', lib.task_key(id), F.error, error) end
  if fingerprint and fingerprint ~= '' then lib.safe_call('HSET', lib.task_key(id), F.fingerprint, fingerprint) end
end

function lib.family.fail(id, record, reason, error, fingerprint)
  lib.family.keep_error(id, error, fingerprint)
  lib.list_failed(id, fingerprint)
  lib.family.finish(id, record, 'failed', 'y', reason)
  lib.family.cancel_children(id)
end

function lib.family.end_group(id, record)
  local size, failed = (lib.number_of(record[F.results_size]) or 0) + 1, lib.number_of(record[F.children_failed]) or 0
  if failed > 0 and record[F.on_failure] == 'continue' then
    local reason = failed .. ' of its ' .. record[F.children] .. ' children failed; the first: ' .. (record[F.reason] or '')
    lib.family.fail(id, record, reason, record[F.error], record[F.fingerprint])
  elseif size > ctx.RULES.payload_limit then
    local reason = 'its list of results came to ' .. lib.text(size) .. ' bytes, the limit is ' .. lib.text(ctx.RULES.payload_limit)
    lib.family.fail(id, record, reason .. '. Store the data elsewhere, return references.')
  else
    local joined = lib.family.joined(id)
    local lost = lib.family.lost_list(id)
    if lost then return lib.family.fail(id, record, lost) end
    lib.family.finish(id, record, 'succeeded', 're', joined)
  end
end

function lib.family.chain_child_ended(id, record, child)
  if child.far then lib.family.keep_result(id, child) end
  if child.state ~= 'succeeded' then return lib.family.fail(id, record, lib.family.reason(child), child[F.error], child[F.fingerprint]) end
  if record[F.resumes] then return end -- it is being taken up again, and goes on when that is done
  -- After a retry, a later part may end first. Then the first open part is next.
  if record[F.round] then return lib.family.proceed(id, lib.read_record(id)) end
  local order = lib.safe_call('ZSCORE', lib.family.children_of(id), child.ref)
  if not order then return lib.family.fail(id, record, lib.family.lost_list(id) or child.ref .. ' is not among its children') end
  local next_one = lib.safe_call('ZRANGEBYSCORE', lib.family.children_of(id), '(' .. order, '+inf', 'LIMIT', 0, 1)
  if next_one[1] then return lib.family.activate(next_one[1], id, record, child[F.result]) end
  lib.family.finish(id, record, 'succeeded', 're', child[F.result])
end

function lib.family.group_child_ended(id, record, child)
  if child.state == 'succeeded' then
    lib.family.collect_success(id, record[F.on_failure], child.ref, child[F.result])
  elseif record[F.on_failure] == 'outcomes' then
    lib.family.collect(id, child.ref, lib.family.outcome_of(child))
  elseif record[F.on_failure] ~= 'continue' then
    return lib.family.fail(id, record, lib.family.reason(child), child[F.error], child[F.fingerprint])
  elseif lib.safe_call('HINCRBY', lib.task_key(id), F.children_failed, 1) == 1 then
    lib.safe_call('HSET', lib.task_key(id), F.reason, lib.family.reason(child))
    lib.family.keep_error(id, child[F.error], child[F.fingerprint])
  end
  if lib.safe_call('EXISTS', lib.family.open_of(id)) == 0 and not record[F.resumes] then lib.family.end_group(id, lib.read_record(id)) end
end

-- Handles the end of a child. Ignored if the parent is gone, has another generation, or is in another round.
-- If the parent has not begun, the report is handled when it begins.
local function child_ended(child)
  if child.joined_by then return lib.family.end_stand_ins(child.joined_by, child.ref) end
  if child.again then return lib.family.come_again(child.ref) end
  if child.pool then return lib.family.tell_parent(child) end
  local id, fields = child.parent, { 's', 'u', 'k', 'n', 'of', 'kp', 'wt', 'nx', 'pi', 'cc', 'rs', 'rn', 'tp', 'ro', 'pp', 'kt', 'fu',
    'hw' }
  local row, record = lib.fields_of(lib.task_key(id), unpack(fields)), {}
  for i, field in ipairs(fields) do record[field] = row and row[i] or nil end
  local is_old = record[F.uid] ~= child.uid or (child.far and lib.family.hear_last(id, record, child))
  if is_old then return lib.count_minute('cmd|dropped', 1) end
  if record[F.state] == 'waiting' or (record[F.state] == 'postponed' and record[F.children]) then return end
  if lib.safe_call('SREM', lib.family.open_of(id), child.ref) == 0 then return end
  if child.kind ~= 'chain' and child.kind ~= 'group' then lib.family.count_leaf(id, record, child) end
  if record[F.kind] == 'iterator' then return lib.family.iterator_child_ended(id, record, child) end
  if record[F.state] ~= 'idle' then return end
  if record[F.kind] == 'chain' then lib.family.chain_child_ended(id, record, child) else lib.family.group_child_ended(id, record, child) end
end

function lib.family.settle()
  lib.flush(); lib.flush_lanes()
  local number = 1
  repeat
    while ctx.ended_children[number] do
      child_ended(ctx.ended_children[number])
      number = number + 1
    end
    lib.family.iterators_go_on()
  until not ctx.ended_children[number]
  ctx.ended_children = {}
  lib.family.write_progress()
end

-- Writes the progress of each root. A leaf that ends after its parent does not count (`uc`).
-- If a root has succeeded and is not a part itself, all of its total is done.
function lib.family.write_progress(ended)
  for root, steps in pairs(ctx.ended_leaves) do
    local row = lib.named_fields(lib.task_key(root), F.children, F.total, F.parent_pool, F.state, F.parent_id, F.progress, F.planted_weight)
    if row and row[F.children] then
      local total = lib.rounded(lib.amount(row[F.total]) + steps.total)
      local is_whole = row[F.state] == 'succeeded' and not row[F.parent_id]
      local done = lib.shown(is_whole and total or lib.rounded(lib.amount(row[F.progress]) + steps.done))
      lib.safe_call('HSET', lib.task_key(root), F.progress, done)
      if steps.total ~= 0 then
        local planted = row[F.planted_weight] or row[F.total] or 0
        lib.safe_call('HSET', lib.task_key(root), F.total, lib.shown(total), F.planted_weight, planted)
      end
      if lib.is_listened() then
        lib.tell_event(root, { done = done, total = lib.shown(total) })
      end
      if row[F.parent_pool] and root ~= ended then lib.family.tell_progress(root, done) end
    end
  end
  ctx.ended_leaves = {}
end
