-- Figures of jobs for the snapshot of a pool: machines whose disk is full, so that their jobs wait, circuits that are open,
-- and a file that cannot be deleted.
-- Key `full_disks`: machine -> time of the note and percent. A note that is older than FRESH counts no more.
--@needs circuits files lanes transitions

local FRESH, MOST = 300000, 10

-- The lanes of callbacks that have an open circuit: for each its title, the addresses, the callbacks that wait, and the first
-- time at which one is tried.
local function open_circuits()
  local rows = {}
  for lane, circuits in pairs(lib.circuits.by_lane()) do
    local row = { lane = lane, count = 0, waiting = 0 }
    for _, circuit in ipairs(circuits) do
      local _, _, text, _, waiting = unpack(circuit)
      local till = tonumber(text)
      if till and till > now then
        row.count, row.waiting, row.till = row.count + 1, row.waiting + waiting, min(till, row.till or till)
      end
    end
    if row.count > 0 and #rows < MOST then
      row.title = lib.safe_call('HGET', lib.lane_key(lane) .. SUBKEY.conf, 'title') or nil
      rows[#rows + 1] = row
    end
  end
  return rows
end

function lib.hooks.show.job.figures(figures)
  local circuits = open_circuits()
  if #circuits > 0 then figures.circuits = circuits end
  local found, rows = lib.safe_call('HGETALL', P .. ':full_disks'), {}
  for i = 1, #found, 2 do
    local at, percent = string.match(found[i + 1], '^(%d+) (%d+)$')
    local is_fresh = at and #at < 15 and tonumber(at) > now - FRESH
    if is_fresh and #rows < MOST then rows[#rows + 1] = { host = found[i], percent = tonumber(percent) } end
  end
  if rows[1] then figures.full_disks = rows end
  figures.failing_file = lib.files.failing()
end
