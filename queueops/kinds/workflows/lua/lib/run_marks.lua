-- Marks of runs: a field with the time since, and an index of the runs that have it. A run that has ended is `continued` if its
-- code continued as new; the other marks are of runs that have not ended.
--@needs transitions

lib.run_marks = { FIELDS = { blocked = 'vb', suspended = 'vs', continued = 've' } }

-- Puts a run into an index.
function lib.run_marks.enter(mark, id, since) lib.safe_call('ZADD', P .. ':' .. mark, since or NOW, id) end

-- Takes a run out of an index.
function lib.run_marks.leave(mark, id) return lib.safe_call('ZREM', P .. ':' .. mark, id) == 1 end

function lib.run_marks.leave_all(id)
  for mark in pairs(lib.run_marks.FIELDS) do lib.run_marks.leave(mark, id) end
end

-- Whether a run with these fields belongs into an index.
function lib.run_marks.has(mark, row)
  local is_set = row[F.state] and row[lib.run_marks.FIELDS[mark]]
  return is_set and (TERMINAL[row[F.state]] ~= nil) == (mark == 'continued')
end
