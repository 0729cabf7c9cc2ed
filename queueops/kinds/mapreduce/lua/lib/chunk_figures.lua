-- Figures of all chunks of a pool, for its snapshot; and what the page of a task tells of the key of its chunks.
--@needs chunk_lane key_details lanes limits minute_counts store_helpers

-- The backlog includes the lanes of tasks that gather. If there are very many such tasks, only the first are read.
local GATHERING = 200

function lib.hooks.show.mapreduce.figures(figures, most)
  local rows, waiting, sums = {}, 0, { pending = 0, active = 0, errored = 0, done = 0, failed = 0 }
  for _, task in ipairs(call('ZRANGE', P .. ':state:aggregating', 0, GATHERING - 1)) do
    local row = { task = task }
    for state in pairs(sums) do
      row[state] = call('ZCARD', TASK .. task .. '#chunks:' .. state)
      sums[state] = sums[state] + row[state]
    end
    rows[#rows + 1] = row
    if row.pending > 0 then waiting = waiting + 1 end
  end
  if waiting > 0 then figures.kinds.mapreduce = (figures.kinds.mapreduce or 0) + waiting end -- workers take the chunks
  sums.tasks, sums.looked = figures.states.aggregating, #rows
  table.sort(rows, function(a, b) return a.pending > b.pending end)
  for i = #rows, most + 1, -1 do rows[i] = nil end
  for _, row in ipairs(rows) do
    local conf = lib.lane_conf('#' .. row.task)
    row.name, row.lane, row.limit = conf.name, conf.lane, conf.limit
    row.closed = conf.paused and true or lib.lane_conf(conf.lane).paused
    if conf.turn then
      row.waits = lib.try('ZSCORE', lib.key_of_limit(lib.scope_of(conf.turn)) .. SUBKEY.waiting, '#' .. row.task) and true
      row.limit = min(row.limit or 1e9, lib.number_of(conf.turn[F.key_limit]) or row.limit or 1e9)
      if row.limit == 1e9 then row.limit = nil end
    end
  end
  sums.lanes = rows
  figures.chunks = sums
  local of_all = sums.looked > 0 and sums.tasks / sums.looked or 0
  figures.parts = { ready = floor(sums.pending * of_all + 0.5), active = floor(sums.active * of_all + 0.5) }
end

function lib.hooks.show.mapreduce.details(id, record, put)
  local turn = record[F.state] == 'aggregating' and lib.turn_of_chunks(record)
  if turn then lib.key_details('#' .. id, turn, put) end
end
