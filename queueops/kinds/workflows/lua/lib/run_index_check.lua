-- Consistency check of the indexes of runs: instances, blocked runs, and timers on the agenda.
--@needs fieldcheck run_check runs store_helpers transitions

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

-- Runs in the index of blocked ones that are not blocked.
function lib.run_check.parts.blocked(cursor, _)
  local found = lib.run_check.scan('ZSCAN', P .. ':blocked', 'blocked', cursor, '')
  for i = 1, #found, 2 do
    local row = lib.named_fields(lib.task_key(found[i]), 's', 'vb') or {}
    if not (row.s and row.vb and not TERMINAL[row.s]) and lib.wrong(found[i], 'it is not blocked, and in that index') then
      lib.safe_call('ZREM', P .. ':blocked', found[i])
    end
  end
end

function lib.hooks.check_pool.workflow()
  lib.run_check.go_on('instances', 0, '')
  lib.run_check.go_on('blocked', 0, '')
end

function lib.hooks.check_entry.timer(rest)
  local number, id = string.match(rest, '^(%d+):(.*)$')
  local row = number and lib.runs.read(id)
  local waits = row and not TERMINAL[row.s] and lib.safe_call('HEXISTS', lib.runs.calls_of(id), number) == 1
  if not waits and lib.wrong('~timer:' .. rest, 'no run waits for this timer') then lib.unschedule('~timer:' .. rest) end
end
