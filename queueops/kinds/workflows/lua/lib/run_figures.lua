-- Figures of blocked runs of a pool, for its snapshot: their number, and the first ones with the reason.
--@needs store_helpers transitions

local MOST = 3

function lib.hooks.figures.workflow(figures)
  local rows = {}
  for _, id in ipairs(call('ZRANGE', P .. ':blocked', 0, MOST - 1)) do
    local row = lib.fields_of(lib.task_key(id), 'n', 'vi', 'vb', 'vc', 'y') or {}
    if row[1] and row[3] then
      rows[#rows + 1] = { id = id, name = row[1], instance = row[2] or id, since = lib.number_of(row[3]), times = lib.number_of(row[4]),
        reason = lib.shortened(row[5] or '', 1000) }
    end
  end
  if rows[1] then figures.blocked_runs = { count = call('ZCARD', P .. ':blocked'), rows = rows } end
end
