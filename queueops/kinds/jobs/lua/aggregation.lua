#!lua flags=allow-oom
-- aggregation: an operator drains an aggregation, lets it accept jobs again, sets its proxy, or deletes it if it is empty.
-- KEYS: 1 the pool's prefix
-- ARGV: 1 lane; 2 drain, accept, proxy or delete; 3 the proxy ('' = none)
-- Reply: OK, NONE (there is no such aggregation) or JOBS (it has jobs); the number of its jobs.
-- Transitions: none.
--@needs aggregations lanes

local lane, verb = ARGV[1], ARGV[2]
local key = lib.lane_key(lane) .. SUBKEY.conf
local count = lib.aggregations.jobs_in(lane)
if call('HEXISTS', key, 'title') == 0 then return { 'NONE', count } end
if verb == 'delete' then
  if count > 0 then return { 'JOBS', count } end
  lib.aggregations.forget(lane)
elseif verb == 'drain' then
  call('HSET', key, 'drain', '1')
elseif verb == 'accept' then
  call('HDEL', key, 'drain')
else
  call('HSET', key, 'proxy', ARGV[3])
end
return { 'OK', count }
