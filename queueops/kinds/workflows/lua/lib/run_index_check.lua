-- Consistency check of the indexes of runs: instances, marks, and timers on the agenda.
--@needs fieldcheck run_check run_marks runs store_helpers transitions

-- Instances whose newest run is gone.
function lib.run_check.parts.instances(cursor, _)
  local found = lib.run_check.scan('HSCAN', P .. ':instances', 'instances', cursor, '')
  for i = 1, #found, 2 do
    local entry = '~run:instances:0:' .. found[i]
    if not lib.runs.read(found[i + 1]) and lib.wrong(entry, 'its newest run ' .. found[i + 1] .. ' is gone') then
      lib.safe_call('HDEL', P .. ':instances', found[i])
    end
  end
end

-- Runs in the index of a mark that they do not have.
local function check_marked(mark, cursor)
  local found = lib.run_check.scan('ZSCAN', P .. ':' .. mark, mark, cursor, '')
  for i = 1, #found, 2 do
    local row = lib.named_fields(lib.task_key(found[i]), F.state, lib.run_marks.FIELDS[mark]) or {}
    if not lib.run_marks.has(mark, row) and lib.wrong(found[i], 'it is not ' .. mark .. ', and in that index') then
      lib.run_marks.leave(mark, found[i])
    end
  end
end

function lib.run_check.parts.blocked(cursor) check_marked('blocked', cursor) end
function lib.run_check.parts.suspended(cursor) check_marked('suspended', cursor) end
function lib.run_check.parts.continued(cursor) check_marked('continued', cursor) end

function lib.hooks.check.workflow.pool()
  lib.run_check.go_on('instances', 0, '')
  for mark in pairs(lib.run_marks.FIELDS) do lib.run_check.go_on(mark, 0, '') end
end

function lib.hooks.check_entry.timer(rest)
  local number, id = string.match(rest, '^(%d+):(.*)$')
  local row = number and lib.runs.read(id)
  local waits = row and not TERMINAL[row[F.state]] and lib.safe_call('HEXISTS', lib.runs.calls_of(id), number) == 1
  if not waits and lib.wrong('~timer:' .. rest, 'no run waits for this timer') then lib.unschedule('~timer:' .. rest) end
end
