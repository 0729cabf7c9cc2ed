-- Composites with parts in several pools: commands to a part, or to a parent, in another pool. `remote_effects` handles
-- commands that arrive. A part stores the pool of its parent (`pp`) and the round of retries that it is in (`po`).

local function asked_of(id) return task_key(id) .. '#asked' end
local function far_of(id) return task_key(id) .. '#far' end

-- The topmost task of the tree in this pool. It counts the progress.
local function top_of(id, record) return record.tp or (record.pi and not record.pp and record.ro) or id end

function family.is_round(record, round) return (number_of(record.rn) or 0) == (number_of(round) or 0) end

function family.activate_far(ref, parent, record, previous)
  local id, pool = far(ref)
  if safe_call('SISMEMBER', family.open_of(parent), ref) == 0 then return end -- it has ended
  allowance = allowance - 1
  local more = family.successor_of(ref, pool, parent, record)
  if previous then more[#more + 1] = 'pv'; more[#more + 1] = previous end
  send('activate', pool, id, parent, record.u, record.rn, unpack(more))
end

-- A child in another pool waits. If it is its turn, the command was lost or is still under way. It is sent again.
function family.turn_again(id, ref, command)
  local record = read_record(id)
  if not (record and record.u == command.u and record.s == 'idle' and not record.rs) then return end
  if not family.is_round(record, command.rn) or safe_call('SISMEMBER', family.open_of(id), ref) == 0 then return end
  local previous = record.cc and record.pv
  if record.k == 'chain' then
    local first, before = family.first_open(id)
    if first ~= ref then return end
    if before then previous = family.result_of(id, before) end
  end
  local child, pool = far(ref)
  local more = previous and { 'pv', previous } or {}
  send_latest('activate', pool, child, id, record.u, record.rn, unpack(more))
end

-- Reports the end of a child, with all that its parent needs.
function family.tell_parent(child)
  if child.ahead then return end
  if child.successor and child.state == 'succeeded' then family.lead_on(child) end -- first: a caller may wait for that
  local more = {}
  local weight, growth = family.weight_of(child.counts), family.growth_of(child.counts)
  local fields = { er = child.er, ef = child.ef, y = child.y, pr = child.done, k = child.kind,
    tw = not child.counts.cc and weight ~= 1 and shown(weight), gr = growth ~= 0 and shown(growth) }
  for field, value in pairs(fields) do
    if value then more[#more + 1] = field; more[#more + 1] = value end
  end
  send('ended', child.pool, child.parent, child.ref, child.uid, child.round, 's', child.state, 're', child.re, unpack(more))
end

function family.tell_progress(id, done)
  local row = fields_of(task_key(id), 'pp', 'pi', 'pu', 'po', 'to', 'pl')
  if not (row[1] and row[5]) then return end
  local growth = family.growth_of({ cc = 1, to = row[5], pl = row[6] or nil })
  send_latest('progress', row[1], row[2], id, row[3], row[4], 'pr', done, 'gr', shown(growth))
end

-- Progress counted for a child in another pool: number of the last report, amount done, growth, and a mark.
-- The mark is `!` if the child is a leaf whose end has been counted.
local function counted_of(id, ref)
  local number, done, growth, mark = string.match(safe_call('HGET', far_of(id), ref) or '', '^(%d+) (%S+) ([^%s!]+)(!?)$')
  return tonumber(number or 0), amount(done), amount(growth), mark or ''
end

local function count_far(id, record, ref, done, growth, number, mark)
  local _, before, grown = counted_of(id, ref)
  safe_call('HSET', far_of(id), ref, text(number) .. ' ' .. shown(done) .. ' ' .. shown(growth) .. mark)
  if record.k ~= 'iterator' then family.count(top_of(id, record), done - before, growth - grown) end
end

-- Applies a progress report of a child. A report older than the last one is ignored.
function family.hear_progress(id, record, ref, done, growth, number)
  local last, _, _, mark = counted_of(id, ref)
  if mark == '!' or tonumber(number) <= last then return end
  count_far(id, record, ref, amount(done), amount(growth), tonumber(number), '')
end

-- Applies the final progress of an ended chain or group. Returns whether its end is of another round.
function family.hear_last(id, record, child)
  if child.done and (child.kind == 'chain' or child.kind == 'group') then
    family.hear_progress(id, record, child.ref, child.done, child.growth, child.number)
  end
  return not family.is_round(record, child.round)
end

-- Counts the end of a leaf. For a leaf in another pool the mark `!` prevents a second count.
function family.count_leaf(id, record, child)
  local leaf = child.counts
  if not child.far then return leaf and family.count(child.root, family.weight_of(leaf) - amount(leaf.pc)) end
  local last, _, _, mark = counted_of(id, child.ref)
  if record.k == 'iterator' or mark == '!' then return end
  count_far(id, record, child.ref, amount(child.weight or 1), amount(child.growth), last, '!')
end

function family.uncount_far(id, record, ref)
  local last, _, growth = counted_of(id, ref)
  if safe_call('HEXISTS', far_of(id), ref) == 1 then count_far(id, record, ref, 0, growth, last, '') end
end

-- Stores the result of a child in another pool, for a chain that continues after it later.
function family.keep_result(id, child)
  if child.state ~= 'succeeded' then return end
  safe_call('DEL', task_key(id) .. '#results')
  safe_call('HSET', task_key(id) .. '#results', child.ref, child.re)
end

function family.result_of(id, ref)
  if far(ref) then return safe_call('HGET', task_key(id) .. '#results', ref) or '' end
  return safe_call('HGET', task_key(ref), 're') or ''
end

-- Stores the result of a child that succeeded after its parent had ended.
local function fill_in(id, record, ref, result)
  if record.k == 'group' then return family.collect_success(id, record.of, ref, result) end
  safe_call('HSET', task_key(id) .. '#results', ref, result)
end

function family.ask_to_resume(ref, id, record)
  local child, pool = far(ref)
  local lacks = safe_call('HEXISTS', task_key(id) .. '#results', ref) == 0 and 1 or 0
  safe_call('SADD', family.open_of(id), ref)
  safe_call('SADD', asked_of(id), ref)
  send('resume', pool, child, id, record.u, record.rn, 'mode', record.rs, 'lacks', lacks)
end

-- Handles the answer to `resume`. OPEN: the child runs again, or still runs. DONE: it had succeeded, and sends its result.
function family.hear_resumed(command, word, detail)
  local id, ref, record = command.me, command.i .. '#' .. command.to, read_record(command.me)
  local iterates = record and record.k == 'iterator'
  if not (record and record.u == command.u and (record.s == 'idle' or (iterates and not TERMINAL[record.s]))) then
    if word == 'OPEN' then send('cancel', command.to, command.i, id, command.u, command.rn, 'y', id .. ' is over') end
    return
  end
  if not family.is_round(record, command.rn) or safe_call('SREM', asked_of(id), ref) == 0 then return end
  if iterates then return family.hear_again(id, record, ref, word) end
  if word == 'DONE' then
    local weight, growth, result = string.match(detail, '^(%S*) (%S*) (.*)$')
    safe_call('SREM', family.open_of(id), ref)
    if command.lacks == '1' then fill_in(id, record, ref, result or '') end
    if weight and weight ~= '' then
      family.count_leaf(id, record, { far = true, ref = ref, weight = weight, growth = growth })
    end
  elseif safe_call('SISMEMBER', family.open_of(id), ref) == 1 then
    family.uncollect(id, ref)
  end
  if detail == 'leaf' then family.uncount_far(id, record, ref) end
  if record.rs and number_of(record.rk) == -1 and safe_call('SCARD', asked_of(id)) == 0 then family.go_on_resumed(id, record) end
end
