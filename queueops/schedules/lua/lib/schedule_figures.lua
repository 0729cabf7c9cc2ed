-- Figures of schedules. `schedules`: how many have a next run. `paused_schedules` has those that do not fire while they are
-- paused: the id, and the first run that is missed (`due`), which is the time of the tick that the pause came before.
--@needs schedules store_helpers

local MOST_PAUSED = 50

function lib.hooks.figures.schedules(figures)
  local rows = {}
  for _, id in ipairs(call('ZRANGEBYSCORE', ctx.SCHEDULES, '+inf', '+inf', 'LIMIT', 0, MOST_PAUSED)) do
    local row = lib.named_fields(lib.schedule_key(id), 'pa', 'pd', 'og')
    local due = row and row.pa and not row.og and lib.number_of(row.pd)
    if due and due < 1e15 then rows[#rows + 1] = { id = id, due = due } end
  end
  figures.schedules = call('ZCOUNT', ctx.SCHEDULES, '-inf', '(+inf')
  figures.paused_schedules = rows
end
