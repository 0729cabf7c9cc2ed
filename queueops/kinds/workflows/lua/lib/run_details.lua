-- Details of a run, for the page of a task.
--@needs runs

-- The beginning of its history: the record knows the last start alone.
function lib.hooks.show.workflows.details(id, record, put)
  if record[F.kind] ~= 'workflow' then return end
  local mark = redis.pcall('LINDEX', lib.runs.history_of(id), 0)
  if type(mark) == 'string' then put('first_mark', mark) end
end
