-- Effects of a command in the pool of its target, by verb: the same functions as inside one pool. Each gets the command
-- (`from` is the pool of its sender) and returns a word and a detail. `reply` applies that answer to the sender.
--@needs cancel child_end parent store_helpers transitions

-- The child that is the target of the command, if it still has that parent. Also whether the command is of its round.
local function child_of(command)
  local child = lib.read_record(command.i)
  if not (child and child[F.parent_id] == command.me and child[F.parent_pool] == command.from and child[F.parent_uid] == command.u) then
    return nil
  end
  return child, (lib.number_of(child[F.parent_round]) or 0) == (lib.number_of(command.rn) or 0)
end

local function sender_of(command) return command.me .. '#' .. command.from end

function lib.hooks.effect.activate(command)
  local child, in_round = child_of(command)
  if not child then return 'GONE' end
  if not in_round then return 'OLD' end
  if child[F.ahead_of_chain] then lib.safe_call('HDEL', lib.task_key(command.i), F.ahead_of_chain) end
  if command.sx then lib.safe_call('HSET', lib.task_key(command.i), F.successor, command.sx) end
  lib.family.turn_of(command.i, child, command.pv)
  return 'OK'
end

function lib.hooks.effect.follow(command) return lib.family.follow(command.i, command) end

function lib.hooks.effect.cancel(command)
  local child, in_round = child_of(command)
  if not child then return 'GONE' end
  if not in_round then return 'OLD' end
  lib.family.cancel_child(command.i, child, command.y, command.xh == '1')
  return 'OK'
end

function lib.hooks.effect.uproot(command)
  local child = child_of(command)
  if child and child[F.state] == 'succeeded' then -- it goes with its parent
    lib.safe_call('HDEL', lib.task_key(command.i), F.parent_id, F.parent_uid, F.parent_pool)
    lib.family.keep_briefly(command.i, child[F.kind], 0)
    return 'OK'
  end
  if not (child and child[F.state] == 'waiting') then return 'GONE' end
  lib.family.unguard(command.i)
  lib.family.uproot(command.i)
  return 'OK'
end

-- A part that has begun and does not run is cancelled before the whole is run again. That cancel may arrive after this
-- command, and does not count then. So it is done now: the part's arguments came from an older result.
local function cancel_before(id, child)
  if child[F.state] == 'waiting' or child[F.state] == 'quarantined' or LEASED[child[F.state]] or TERMINAL[child[F.state]] then
    return child
  end
  lib.cancel(id, child, 'it is run again with all of ' .. child[F.parent_id], nil, 'uc', 1)
  return lib.read_record(id)
end

-- Begins a round of retries. A child that is in this round already stays as it is.
function lib.hooks.effect.resume(command)
  local child = child_of(command)
  if not child then return 'GONE' end
  local known, round = lib.number_of(child[F.parent_round]) or 0, lib.number_of(command.rn) or 0
  if known >= round then return known == round and 'OPEN' or 'OLD' end
  if child[F.state] == 'succeeded' and command.mode ~= 'all' then
    local weight = child[F.children] and '' or lib.shown(lib.family.weight_of(child))
    return 'DONE', weight .. ' ' .. lib.shown(lib.family.growth_of(child)) .. ' ' .. (command.lacks == '1' and child[F.result] or '')
  end
  if command.mode == 'all' then child = cancel_before(command.i, child) end
  lib.safe_call('HSET', lib.task_key(command.i), F.parent_round, round)
  lib.safe_call('HDEL', lib.task_key(command.i), F.successor, F.ahead_of_chain)
  if LEASED[child[F.state]] then lib.family.keep_running(command.i, child, command.mode) end
  if TERMINAL[child[F.state]] then lib.family.reset(command.i, child, command.mode) end
  return 'OPEN', TERMINAL[child[F.state]] and not child[F.children] and 'leaf' or ''
end

-- The time for which an iterator keeps a succeeded task. '' if it does not count the end. Then a retry of the iterator
-- asks that task again.
local function kept_ms(command)
  local row = lib.named_fields(lib.task_key(command.i), F.keep_tasks, F.uid, F.state, F.round)
  if not (row and row[F.keep_tasks]) or row[F.uid] ~= command.u or not lib.family.is_round({ rn = row[F.round] or nil }, command.rn) then
    return ''
  end
  local ended_badly = TERMINAL[row[F.state]] and row[F.state] ~= 'succeeded'
  return ended_badly and lib.safe_call('SISMEMBER', lib.family.open_of(command.i), sender_of(command)) == 0 and '' or row[F.keep_tasks]
end

function lib.hooks.effect.ended(command)
  ctx.ended_children[#ctx.ended_children + 1] = { far = true, ref = sender_of(command), parent = command.i, uid = command.u,
    round = command.rn, kind = command.k, state = command.s, re = command.re or '', er = command.er, ef = command.ef, y = command.y,
    done = command.pr, growth = command.gr, weight = command.tw, number = command.vn }
  return 'OK', command.s == 'succeeded' and kept_ms(command) or ''
end

-- Applies the retention that an iterator sets for a succeeded task.
function lib.hooks.reply.ended(command, _, ms)
  local row = ms ~= '' and lib.named_fields(lib.task_key(command.me), F.state, F.parent_id, F.of_iterator, F.kind)
  if row and row[F.state] == 'succeeded' and row[F.parent_id] == command.i and row[F.of_iterator] then
    lib.family.keep_briefly(command.me, row[F.kind], ms)
  end
end

function lib.hooks.effect.progress(command)
  local id, record = command.i, lib.read_record(command.i)
  if not (record and record[F.uid] == command.u) then return 'GONE' end
  lib.family.hear_progress(id, record, sender_of(command), command.pr, command.gr, command.vn)
  return 'OK'
end

function lib.hooks.effect.ask(command)
  local _, uid, kind = lib.values_of(lib.task_key(command.i), F.uid, F.kind)
  if uid ~= command.u and TERMINAL[command.s] then _, uid, kind = lib.values_of(P .. ':trash:' .. command.i, 'u', 'k') end
  local is_there = uid == command.u and (command.s ~= 'succeeded' or kind ~= 'iterator')
  return is_there and 'KEPT' or 'GONE'
end

-- Answers a parent that asks about a child it waits for. A lost report of an end is sent again, and so is a lost turn.
function lib.hooks.effect.look(command)
  local child, in_round = child_of(command)
  if not child then return 'GONE' end
  if in_round and child[F.ahead_of_chain] then lib.safe_call('HDEL', lib.task_key(command.i), F.ahead_of_chain) end
  if TERMINAL[child[F.state]] and in_round then lib.note_child_end(command.i, command.me, child[F.state]) end
  return child[F.state] == 'waiting' and in_round and 'WAITS' or 'OK'
end

function lib.hooks.reply.activate(command, word)
  if word ~= 'GONE' then return end
  ctx.ended_children[#ctx.ended_children + 1] = { far = true, ref = command.i .. '#' .. command.to, parent = command.me, uid = command.u,
    round = command.rn, state = 'failed', re = '', y = 'its record is lost' }
end

function lib.hooks.reply.look(command, word)
  if word == 'WAITS' then return lib.family.turn_again(command.me, command.i .. '#' .. command.to, command) end
  lib.hooks.reply.activate(command, word)
end

-- Handles the answer of a task that an iterator runs again. OPEN: it runs again, or still runs. DONE: it had succeeded.
-- Otherwise it is gone, and counts as failed.
function lib.family.hear_again(id, record, ref, word)
  if word == 'OPEN' then return lib.family.activate_far(ref, id, record) end
  if word ~= 'DONE' then
    lib.safe_call('SREM', lib.family.open_of(id), ref)
    lib.safe_call('HINCRBY', lib.task_key(id), F.tasks_failed, 1); lib.safe_call('HINCRBY', lib.task_key(id), 'pr', 1)
    return lib.family.go_on_iterating(id)
  end
  ctx.ended_children[#ctx.ended_children + 1] = { far = true, ref = ref, parent = id, uid = record[F.uid], round = record[F.round], re = '',
    state = 'succeeded' }
end

function lib.hooks.reply.resume(command, word, detail) lib.family.hear_resumed(command, word, detail) end

function lib.hooks.reply.ask(command, word) lib.family.hear_answer(command, word) end
