-- Consistency check of calls and signals of other pools. A pool cannot read the tasks of another one: the check reads them
-- itself, and gives what it finds to these entries: `~lost:<number>:<token>:<run>`, and in the other pool
-- `~unreported:<token>:<task>`.
--@needs fieldcheck run_outgoing runs transitions

lib.run_far_check = {}

local function lost_end(id, name)
  lib.runs.finish_call(id, name, lib.runs.lost_event(string.match(name, '%d+') or '0', 'its end was lost'))
end

-- Whether an entry of `#calls` is a call or a signal of another pool. One that cannot be read has no end.
function lib.run_far_check.is_call(id, name, what)
  if string.find(name, '^f%d+$') and (what == 's' or lib.far_calls.read(what)) then return true end
  if lib.wrong(id, 'its open command ' .. name .. ' cannot be read') then lost_end(id, name) end
  return false
end

-- A call or a signal that has no message and no task.
function lib.hooks.check_entry.lost(rest)
  local number, token, id = string.match(rest, '^(%d+):(%d*):(.*)$')
  local what = number and lib.safe_call('HGET', lib.runs.calls_of(id), 'f' .. number)
  if not what then return end
  local _, _, pool, its_token = lib.far_calls.read(what)
  if (its_token or '') ~= token then return end
  local where = pool and ' in the pool ' .. pool or ' to another pool'
  if lib.wrong(id, 'it waits for its command ' .. number .. where .. ', which nothing will end') then lost_end(id, 'f' .. number) end
end

-- A task that has ended, and no message tells its run.
function lib.hooks.check_entry.unreported(rest)
  local token, id = string.match(rest, '^(%d+):(.*)$')
  local record = id and lib.read_record(id)
  if not (record and record[F.waiting_pool] and record[F.call_token] == token and TERMINAL[record[F.state]]) then return end
  if lib.wrong(id, 'it has ended, and no message tells ' .. record[F.waiting_run] .. ' in the pool ' .. record[F.waiting_pool]) then
    lib.runs.report(id, record, record[F.state])
  end
end
