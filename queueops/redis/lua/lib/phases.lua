-- Phases of a call: what was collected is written, and what has ended is gone on with.
--@needs lanes transitions

fresh.foreign_moved = false -- whether foreign members may have moved in this call
fresh.moved = TABLE -- ids that `shift` has moved since the last flush
fresh.parts_ended = false -- whether parts of other tasks may have ended in this call

-- Writes all that was collected, before something reads the indexes.
function lib.flush_all()
  if ctx.foreign_moved then lib.hooks.parts.flush() end
  lib.flush(); lib.flush_lanes()
end

-- Ends a phase. Foreign members come first: their task may end, and may be part of another.
function lib.settle_up()
  if ctx.foreign_moved then lib.hooks.parts.settle_moves() end
  if ctx.parts_ended then lib.hooks.tree.settle() end
  lib.flush(); lib.flush_lanes()
end

-- Moves a task that may have moved in this call already: a batch of collected moves holds at most one of each task.
function lib.shift(id, record, state)
  if ctx.moved[id] then lib.flush(); lib.flush_lanes(); ctx.moved = {} end
  ctx.moved[id] = true
  lib.move(id, record[F.state], state, record[F.name], record[F.kind], record[F.lane])
end
