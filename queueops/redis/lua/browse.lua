#!lua flags=no-writes
-- browse: one page of a task list, the counts beside it, and the rows that a browser shows, all of one moment.
-- KEYS: 1 the pool's prefix
-- ARGV: 1 number of arguments for the page (0 = no page), those of `page.lua`; then the number of arguments for the
--       facets, those of `facets.lua`; then the ids of shown rows.
-- Reply: reply of `page.lua` (empty without a page), reply of `facets.lua`; for each shown row that is not on the page:
--        id, its score (empty), time of its state, length of its arguments, its fields, the start of its arguments and
--        of its error.
-- Transitions: none.
--@needs list_facets list_page list_row tolerant_reads

lib.tolerate()

local place = 1

local function taken()
  local args, count = {}, tonumber(ARGV[place])
  for i = 1, count do args[i] = ARGV[place + i] end
  place = place + count + 1
  return args
end

local page, facets, rows, seen = taken(), taken(), {}, {}
if #page > 0 then page, seen = lib.list_page(page) end
for i = place, #ARGV do
  if not seen[ARGV[i]] then rows[#rows + 1] = lib.row_of(ARGV[i], '') end
end
return lib.told({ page, lib.list_facets(facets), rows })
