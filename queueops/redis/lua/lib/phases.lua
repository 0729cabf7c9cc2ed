-- Phases of a call: what was collected is written, and what has ended is gone on with.
--@needs lanes transitions

fresh.foreign_moved = false -- whether foreign members may have moved in this call
fresh.parts_ended = false -- whether parts of other tasks may have ended in this call

-- Writes all that was collected, before something reads the indexes.
function lib.flush_all()
  if ctx.foreign_moved then lib.hooks.flush_foreign() end
  lib.flush(); lib.flush_lanes()
end

-- Ends a phase. Foreign members come first: their task may end, and may be part of another.
function lib.settle_up()
  if ctx.foreign_moved then lib.hooks.settle_foreign_moves() end
  if ctx.parts_ended then lib.hooks.settle_part_ends() end
  lib.flush(); lib.flush_lanes()
end
