#!lua flags=allow-oom
-- hold_operation: pauses an operation, or lets it go on. Its worker sees that at its next part.
-- KEYS: 1 the pool's prefix
-- ARGV: 1 operation, 2 '1' to pause ('' to resume), 3 who
-- Reply: word (OK, REPEAT: it is so already, REFUSED: it has ended, GONE), its state.
-- Transitions: none.
--@needs store_helpers transitions

local key = TASK .. ARGV[1]
local row = lib.named_fields(key, 's', 'k', 'jh')
if not row or row[F.kind] ~= 'bulk_action' then return { 'GONE', '' } end
if TERMINAL[row[F.state]] then return { 'REFUSED', row[F.state] } end
local holds = ARGV[2] == '1'
if holds == (row[F.held_since] ~= false) then return { 'REPEAT', row[F.state] } end
if holds then call('HSET', key, 'jh', NOW) else call('HDEL', key, 'jh', 'jw', 'jv') end
lib.log_line(ARGV[1], { k = 'operator', verb = holds and 'pause' or 'resume', who = ARGV[3] })
return { 'OK', row[F.state] }
