#!lua flags=no-writes
-- lane_page: the lanes behind a place, the latest used first, with their figures. The cost does not grow with the number of
-- lanes before that place.
-- KEYS: 1 the pool's prefix
-- ARGV: 1 and 2 time and name of the last lane of the page before ('' = first page), 3 rows
-- Reply: '1' if more lanes follow; for each lane JSON, as the lanes in `sample.lua`.
-- Transitions: none.
--@needs lane_figures list_page tolerant_reads

lib.tolerate()

local most, rows = tonumber(ARGV[3]), {}
local rank = lib.rank_behind(P .. ':lanes', ARGV[1], ARGV[2])
local found = call('ZREVRANGE', P .. ':lanes', rank, rank + most, 'WITHSCORES')
for i = 1, min(#found, 2 * most), 2 do
  local row = lib.lane_figures(found[i], 0)
  row.used = found[i + 1]
  rows[#rows + 1] = cjson.encode(row)
end
return lib.told({ #found > 2 * most and '1' or '', rows })
