-- Figures of the runs of a pool, for its snapshot: the number of blocked ones, and the first ones with the reason; and how many
-- events came too late in the last hour.
--@needs store_helpers transitions

local MOST = 3

function lib.hooks.show.workflow.figures(figures)
  local rows = {}
  for _, id in ipairs(call('ZRANGE', P .. ':blocked', 0, MOST - 1)) do
    local row = lib.named_fields(lib.task_key(id), F.name, F.instance, F.blocked_since, F.blocked_times, F.reason) or {}
    if row[F.name] and row[F.blocked_since] then
      rows[#rows + 1] = { id = id, name = row[F.name], instance = row[F.instance] or id, since = lib.number_of(row[F.blocked_since]),
        times = lib.number_of(row[F.blocked_times]),
        reason = lib.shortened(row[F.reason] or '', 1000) }
    end
  end
  local late = call('EXISTS', P .. ':kind:workflow') == 1 and lib.counted_last_hour('wf|late') or 0
  if late > 0 then figures.late_events = late end
  if rows[1] then figures.blocked_runs = { count = call('ZCARD', P .. ':blocked'), rows = rows } end
end
