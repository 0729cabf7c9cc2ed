#!lua flags=no-writes
-- preview_operation: what a bulk action would meet, by a look at the first tasks of its walk. It changes nothing.
-- KEYS: 1 the pool's prefix
-- ARGV: 1 verb, 2 first value, 3 the states that allow the verb (separated by commas), 4 tasks at most that are looked at,
--       5 the time of the question, 6 number of indexes, their key suffixes, then pairs: field, its wanted value.
-- Reply: tasks looked at, tasks that match, '1' if there are no others; then lists of flat pairs: name and count; kind of a
--        parent task, number of parts, number of parents (triples); reason of a refusal and count.
-- Transitions: none.
--@needs operation_look operator_action tolerant_reads

lib.tolerate()
local walk = { at = 1, score = '', member = '', asked = tonumber(ARGV[5]), part = tonumber(ARGV[4]), indexes = {}, wanted = {} }
for i = 7, 6 + tonumber(ARGV[6]) do walk.indexes[#walk.indexes + 1] = ARGV[i] end
for i = 7 + #walk.indexes, #ARGV do walk.wanted[#walk.wanted + 1] = ARGV[i] end
local action = { verb = ARGV[1], token = '', value = ARGV[2], allowed = lib.states_in(ARGV[3]) }
return lib.told(lib.look_on(walk, action))
