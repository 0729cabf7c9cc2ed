#!lua flags=allow-oom
-- circuit: notes what a host has answered to a callback; or an operator opens the circuit of a host.
-- KEYS: 1 the pool's prefix
-- ARGV: 1 lane; 2 'failure' or 'answer'; of a failure: 3 failures in a row that open the circuit, 4 ms for which it is open
--       first, 5 the longest such time
-- Reply: time until which the lane is shut ('' = it is not), '1' if that was changed.
-- Transitions: none.
--@needs circuits lanes wakeup

local lane = ARGV[1]
local key = lib.lane_key(lane) .. SUBKEY.conf
local before = call('HGET', key, 'shut')
if ARGV[2] == 'failure' then
  lib.circuits.fail(lane, tonumber(ARGV[3]), tonumber(ARGV[4]), tonumber(ARGV[5]))
else
  lib.circuits.close(lane)
end
local after = call('HGET', key, 'shut')
lib.flush_lanes()
lib.wake(ctx.brought)
return { after or '', before ~= after and '1' or '' }
