-- Figures of schedules. `schedules`: how many have a next run. `paused_schedules` has those that do not fire while they are
-- paused: the id, and the first run that is missed (`due`), which is the time of the tick that the pause came before.
-- `broken_schedules` has those that stopped, because no watchdog can read their definition: the id, and the reason.
--@needs schedules store_helpers transitions

local MOST_PAUSED = 50

function lib.schedule_figures(figures)
  local rows, broken = {}, {}
  for _, id in ipairs(call('ZRANGEBYSCORE', ctx.SCHEDULES, '+inf', '+inf', 'LIMIT', 0, MOST_PAUSED)) do
    local row = lib.named_fields(lib.schedule_key(id), 'pa', 'pd', 'og', 'br')
    local due = row and row.pa and not row.og and lib.number_of(row.pd)
    if due and due < 1e15 then rows[#rows + 1] = { id = id, due = due } end
    if row and row.br then broken[#broken + 1] = { id = id, reason = lib.shortened(row.br, 500) } end
  end
  figures.schedules = call('ZCOUNT', ctx.SCHEDULES, '-inf', '(+inf')
  figures.paused_schedules = rows
  if broken[1] then figures.broken_schedules = broken end
end
