-- Composites with parts in several pools: commands to a part, or to a parent, in another pool. `remote_effects` handles
-- commands that arrive. A part stores the pool of its parent (`pp`) and the round of retries that it is in (`po`).
--@needs outbox parent store_helpers transitions

local function asked_of(id) return lib.task_key(id) .. SUBKEY.asked end
local function far_of(id) return lib.task_key(id) .. SUBKEY.far end

-- The topmost task of the tree in this pool. It counts the progress.
local function top_of(id, record) return record[F.top] or (record[F.parent_id] and not record[F.parent_pool] and record[F.root]) or id end

function lib.family.is_round(record, round) return (lib.number_of(record[F.round]) or 0) == (lib.number_of(round) or 0) end

function lib.family.activate_far(ref, parent, record, previous)
  local id, pool = lib.far(ref)
  if lib.safe_call('SISMEMBER', lib.family.open_of(parent), ref) == 0 then return end -- it has ended
  ctx.allowance = ctx.allowance - 1
  local more = lib.family.successor_of(ref, pool, parent, record)
  if previous then more[#more + 1] = 'pv'; more[#more + 1] = previous end
  lib.send('activate', pool, id, parent, record[F.uid], record[F.round], unpack(more))
end

-- A child in another pool waits. If it is its turn, the command was lost or is still under way. It is sent again.
function lib.family.turn_again(id, ref, command)
  local record = lib.read_record(id)
  if not (record and record[F.uid] == command.u and record[F.state] == 'idle' and not record[F.resumes]) then return end
  if not lib.family.is_round(record, command.rn) or lib.safe_call('SISMEMBER', lib.family.open_of(id), ref) == 0 then return end
  local previous = record[F.children] and record[F.previous]
  if record[F.kind] == 'chain' then
    local first, before = lib.family.first_open(id)
    if first ~= ref then return end
    if before then previous = lib.family.result_of(id, before) end
  end
  local child, pool = lib.far(ref)
  local more = previous and { 'pv', previous } or {}
  lib.send_latest('activate', pool, child, id, record[F.uid], record[F.round], unpack(more))
end

-- Reports the end of a child, with all that its parent needs.
function lib.family.tell_parent(child)
  if child.ahead then return end
  if child.successor and child.state == 'succeeded' then lib.family.lead_on(child) end -- first: a caller may wait for that
  local more = {}
  local weight, growth = lib.family.weight_of(child.counts), lib.family.growth_of(child.counts)
  local fields = { er = child[F.error], ef = child[F.fingerprint], y = child[F.reason], pr = child.done, k = child.kind,
    tw = not child.counts.cc and weight ~= 1 and lib.shown(weight), gr = growth ~= 0 and lib.shown(growth) }
  for field, value in pairs(fields) do
    if value then more[#more + 1] = field; more[#more + 1] = value end
  end
  lib.send('ended', child.pool, child.parent, child.ref, child.uid, child.round, 's', child.state, 're', child[F.result], unpack(more))
end

function lib.family.tell_progress(id, done)
  local row = lib.named_fields(lib.task_key(id), F.parent_pool, F.parent_id, F.parent_uid, F.parent_round, F.total, F.planted_weight)
  if not (row[F.parent_pool] and row[F.total]) then return end
  local growth = lib.family.growth_of({ cc = 1, to = row[F.total], pl = row[F.planted_weight] or nil })
  lib.send_latest('progress', row[F.parent_pool], row[F.parent_id], id, row[F.parent_uid], row[F.parent_round], 'pr', done, 'gr',
    lib.shown(growth))
end

-- Progress counted for a child in another pool: number of the last report, amount done, growth, and a mark.
-- The mark is `!` if the child is a leaf whose end has been counted.
local function counted_of(id, ref)
  local number, done, growth, mark = string.match(lib.safe_call('HGET', far_of(id), ref) or '', '^(%d+) (%S+) ([^%s!]+)(!?)$')
  return tonumber(number or 0), lib.amount(done), lib.amount(growth), mark or ''
end

local function count_far(id, record, ref, done, growth, number, mark)
  local _, before, grown = counted_of(id, ref)
  lib.safe_call('HSET', far_of(id), ref, lib.text(number) .. ' ' .. lib.shown(done) .. ' ' .. lib.shown(growth) .. mark)
  if record[F.kind] ~= 'iterator' then lib.family.count(top_of(id, record), done - before, growth - grown) end
end

-- Applies a progress report of a child. A report older than the last one is ignored.
function lib.family.hear_progress(id, record, ref, done, growth, number)
  local last, _, _, mark = counted_of(id, ref)
  if mark == '!' or tonumber(number) <= last then return end
  count_far(id, record, ref, lib.amount(done), lib.amount(growth), tonumber(number), '')
end

-- Applies the final progress of an ended chain or group. Returns whether its end is of another round.
function lib.family.hear_last(id, record, child)
  if child.done and (child.kind == 'chain' or child.kind == 'group') then
    lib.family.hear_progress(id, record, child.ref, child.done, child.growth, child.number)
  end
  return not lib.family.is_round(record, child.round)
end

-- Counts the end of a leaf. For a leaf in another pool the mark `!` prevents a second count.
function lib.family.count_leaf(id, record, child)
  local leaf = child.counts
  if not child.far then return leaf and lib.family.count(child.root, lib.family.weight_of(leaf) - lib.amount(leaf[F.counted])) end
  local last, _, _, mark = counted_of(id, child.ref)
  if record[F.kind] == 'iterator' or mark == '!' then return end
  count_far(id, record, child.ref, lib.amount(child.weight or 1), lib.amount(child.growth), last, '!')
end

function lib.family.uncount_far(id, record, ref)
  local last, _, growth = counted_of(id, ref)
  if lib.safe_call('HEXISTS', far_of(id), ref) == 1 then count_far(id, record, ref, 0, growth, last, '') end
end

-- Stores the result of a child in another pool, for a chain that continues after it later.
function lib.family.keep_result(id, child)
  if child.state ~= 'succeeded' then return end
  lib.safe_call('DEL', lib.task_key(id) .. SUBKEY.results)
  lib.safe_call('HSET', lib.task_key(id) .. SUBKEY.results, child.ref, child[F.result])
end

function lib.family.result_of(id, ref)
  if lib.far(ref) then return lib.safe_call('HGET', lib.task_key(id) .. SUBKEY.results, ref) or '' end
  return lib.safe_call('HGET', lib.task_key(ref), F.result) or ''
end

-- Stores the result of a child that succeeded after its parent had ended.
local function fill_in(id, record, ref, result)
  if record[F.kind] == 'group' then return lib.family.collect_success(id, record[F.on_failure], ref, result) end
  lib.safe_call('HSET', lib.task_key(id) .. SUBKEY.results, ref, result)
end

function lib.family.ask_to_resume(ref, id, record)
  local child, pool = lib.far(ref)
  local lacks = lib.safe_call('HEXISTS', lib.task_key(id) .. SUBKEY.results, ref) == 0 and 1 or 0
  lib.safe_call('SADD', lib.family.open_of(id), ref)
  lib.safe_call('SADD', asked_of(id), ref)
  lib.send('resume', pool, child, id, record[F.uid], record[F.round], 'mode', record[F.resumes], 'lacks', lacks)
end

-- Handles the answer to `resume`. OPEN: the child runs again, or still runs. DONE: it had succeeded, and sends its result.
function lib.family.hear_resumed(command, word, detail)
  local id, ref, record = command.me, command.i .. '#' .. command.to, lib.read_record(command.me)
  local iterates = record and record[F.kind] == 'iterator'
  if not (record and record[F.uid] == command.u and (record[F.state] == 'idle' or (iterates and not TERMINAL[record[F.state]]))) then
    if word == 'OPEN' then lib.send('cancel', command.to, command.i, id, command.u, command.rn, 'y', id .. ' is over') end
    return
  end
  if not lib.family.is_round(record, command.rn) or lib.safe_call('SREM', asked_of(id), ref) == 0 then return end
  if iterates then return lib.family.hear_again(id, record, ref, word) end
  if word == 'DONE' then
    local weight, growth, result = string.match(detail, '^(%S*) (%S*) (.*)$')
    lib.safe_call('SREM', lib.family.open_of(id), ref)
    if command.lacks == '1' then fill_in(id, record, ref, result or '') end
    if weight and weight ~= '' then
      lib.family.count_leaf(id, record, { far = true, ref = ref, weight = weight, growth = growth })
    end
  elseif lib.safe_call('SISMEMBER', lib.family.open_of(id), ref) == 1 then
    lib.family.uncollect(id, ref)
  end
  if detail == 'leaf' then lib.family.uncount_far(id, record, ref) end
  local answered = record[F.resumes] and lib.number_of(record[F.resumed_children]) == -1 and lib.safe_call('SCARD', asked_of(id)) == 0
  if answered then lib.family.go_on_resumed(id, record) end
end
