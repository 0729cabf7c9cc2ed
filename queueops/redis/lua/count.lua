#!lua flags=no-writes
-- count: how many tasks match a filter: exactly by a counter or an index, else those among the newest within a budget.
-- KEYS: 1 the pool's prefix
-- ARGV: 1 counters: then the arguments of `facets.lua`, with a name, a lane or a kind; index: then those of `page.lua`.
-- Reply: how many match, how many tasks the index has, '1' if all were counted, how many were looked at.
-- Transitions: none.
--@needs list_facets list_page tolerant_reads

lib.tolerate()
local args = {}
for i = 2, #ARGV do args[i - 1] = ARGV[i] end
if ARGV[1] == 'index' then return lib.told(lib.count_listed(args)) end
local number = lib.count_by_counters(args)
return lib.told({ number, number, '1', 0 })
