-- Calls of tasks and signals in other pools, by messages of the outbox. `#calls` has them as `f<number>`: `a` (activity) or `c`
-- (child), then `<id>#<pool>#<token>`; or `s` for a signal. The record of such a task has in `vt` the pool of its run, and in
-- `vk` the token, so that only the end of this very call counts.
--@needs numbers outbox store_helpers transitions

lib.far_calls = {}

local function calls_of(id) return lib.task_key(id) .. SUBKEY.calls end

-- Kind, id, pool and token of what `#calls` has.
function lib.far_calls.read(what)
  return string.match(what or '', '^(%a)([^#]*)#([^#]*)#(.*)$')
end

-- Begins a task in the pool of its plan.
function lib.far_calls.start(id, record, plan)
  local token = lib.text(lib.next_number())
  lib.safe_call('HSET', calls_of(id), 'f' .. plan.number,
    (plan.child and 'c' or 'a') .. plan.id .. '#' .. plan.pool .. '#' .. token)
  local fields = plan.fields
  local function add(field, value) if value and value ~= '' then fields[#fields + 1] = field; fields[#fields + 1] = value end end
  add('vr', id); add('vn', plan.number); add('vt', string.match(P, '^{[^:]*:(.*)}$')); add('vk', token)
  add('ro', record[F.root] or id); add('me', record[F.meta]); add('tr', record[F.trace]); add('vi', plan.instance)
  lib.send('run_call', plan.pool, plan.id, id, record[F.uid], 0, 'vk', token, 'cn', plan.number,
    'sp', cjson.encode({ due = plan.due, instance = plan.instance, fields = fields, alone = plan.alone }))
end

-- Sends a signal to an instance of another pool.
function lib.far_calls.tell(id, record, tell)
  lib.safe_call('HSET', calls_of(id), 'f' .. tell.number, 's')
  lib.send('run_signal', tell.pool, tell.instance, id, record[F.uid], 0, 'cn', tell.number, 'sp', tell.text,
    'tk', id .. ':' .. (record[F.fence] or '') .. ':' .. tell.number, 'pk', tell.kept or '', 'pl', tell.payload or '')
end

-- Tells the pool of a run that its activity or child has ended.
function lib.far_calls.report(id, record, state, ended)
  lib.send('run_ended', record[F.waiting_pool], record[F.waiting_run], id, record[F.uid], 0, 'cn', record[F.command], 'vk',
    record[F.call_token] or '', 's', state,
    're', ended[F.result] or '', 'er', ended[F.error] or '', 'y', ended[F.reason] or '', 'cr', record.crashed and '1' or '',
    'kd', record[F.kind] == 'workflow' and 'c' or 'a')
end

-- Ends a task of another pool that the run does not need any more.
function lib.far_calls.stop(run, what, hard)
  local kind, id, pool, token = lib.far_calls.read(what)
  if kind then lib.send('run_stopped', pool, id, run, 0, 0, 'vk', token, unpack(hard and { 'xh', 1 } or {})) end
end

-- Asks a task of another pool to end, for a run that waits for that.
function lib.far_calls.ask(run, what)
  local kind, id, pool, token = lib.far_calls.read(what)
  if kind then lib.send('run_stopped', pool, id, run, 0, 0, 'vk', token, 'wa', 1) end
end

-- Runs a task of another pool again.
function lib.far_calls.again(run, number, what)
  local kind, id, pool = lib.far_calls.read(what)
  local token = lib.text(lib.next_number())
  lib.safe_call('HSET', calls_of(run), 'f' .. number, kind .. id .. '#' .. pool .. '#' .. token)
  lib.send('run_again', pool, id, run, 0, 0, 'vk', token, 'cn', number)
end
