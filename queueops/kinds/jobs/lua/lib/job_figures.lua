-- Figures of jobs for the snapshot of a pool: machines whose disk is full, so that their jobs wait, and a file that cannot be
-- deleted.
-- Key `full_disks`: machine -> time of the note and percent. A note that is older than FRESH counts no more.
--@needs files transitions

local FRESH, MOST = 300000, 10

function lib.hooks.figures.job(figures)
  local found, rows = lib.safe_call('HGETALL', P .. ':full_disks'), {}
  for i = 1, #found, 2 do
    local at, percent = string.match(found[i + 1], '^(%d+) (%d+)$')
    local is_fresh = at and #at < 15 and tonumber(at) > now - FRESH
    if is_fresh and #rows < MOST then rows[#rows + 1] = { host = found[i], percent = tonumber(percent) } end
  end
  if rows[1] then figures.full_disks = rows end
  figures.failing_file = lib.files.failing()
end
