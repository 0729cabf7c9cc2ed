#!lua flags=no-writes
-- detail: all data of one task. Its lane, its worker and its pool's workers decide whether it runs.
-- KEYS: 1 the pool's prefix
-- ARGV: 1 id, 2 age in ms after which a worker's beat is late
-- Reply: flat pairs: now; record (flat); states (state, time, ...: where the indexes name it, should be one); due
--        (its entry on the agenda); log; trashed; lane, conf (flat), ready, rank, active, holders (five of them), token_at
--        (where the lane's rate allows no start before that);
--        beat, host, condition and silent_since of its worker; tick (the last watchdog); grace;
--        name_paused (since when its name is paused, if it has not ended); of a pending task: sampled (the pool's snapshot,
--        as the watchdog wrote it) and held (it left its lane for the pause);
--        of its key, if it has a limit: key_running and key_ready (how many have a turn), key_waiting, key_rank (its place
--        among these), key_holders (five that run, or else that are next), key_token_at (when its rate allows a start);
--        workers (id, beat, fields flat) that are alive, at most 100; alive; open (parts of it that have not ended);
--        parent_name, parent_state, parent_kind, parent_parts (of the same pool, while it is there); order (its own there),
--        before and behind (in a chain: id, name, state); follow_ups (id, pool, name, state, ...: pushed by its last end).
-- Transitions: none.
--@needs follow_ups key_details rate_limit store_helpers task_counts tolerant_reads

lib.tolerate()

local id, late = ARGV[1], tonumber(ARGV[2])
local reply = { 'now', now }
local function put(name, value)
  if value then reply[#reply + 1] = name; reply[#reply + 1] = value end
end

local flat = redis.pcall('HGETALL', lib.task_key(id))
if flat.err then flat = {} end
local record = {}
for i = 1, #flat, 2 do record[flat[i]] = flat[i + 1] end

local states = {}
for state in pairs(CLASS) do
  local entered = call('ZSCORE', P .. ':state:' .. state, id)
  if entered then states[#states + 1] = state; states[#states + 1] = entered end
end

put('record', flat)
put('states', states)
put('due', call('ZSCORE', P .. ':agenda', id))
put('trashed', call('ZSCORE', P .. ':trashed', id))
local log = redis.pcall('LRANGE', lib.task_key(id) .. SUBKEY.log, -100, -1)
put('log', log.err and {} or log)

local lane = record[F.lane] or 'default'
local key = P .. ':lane:' .. lane
put('lane', lane)
put('conf', call('HGETALL', key .. SUBKEY.conf))
local bucket = {}
lib.fill_bucket(bucket, unpack(call('HMGET', key .. SUBKEY.conf, 'rate', 'tat')))
if bucket.rate and lib.tokens_of(bucket) == 0 then put('token_at', lib.tokens_at(bucket, 1)) end
put('ready', call('ZCARD', key))
put('rank', call('ZRANK', key, id))
put('active', lib.running_in(lane))
put('holders', call('SRANDMEMBER', key .. SUBKEY.active, 5))

if record[F.worker] then
  put('beat', call('ZSCORE', P .. ':workers', record[F.worker]))
  local host, state, silent_since = unpack(call('HMGET', P .. ':worker:' .. record[F.worker], 'host', 'state', 'silent_since'))
  put('host', host); put('condition', state); put('silent_since', silent_since)
end

local tick, grace = unpack(call('HMGET', P .. ':clock', 'tick', 'grace'))
put('tick', tick)
put('grace', grace)
if CLASS[record[F.state]] ~= 'terminal' then put('name_paused', call('HGET', P .. ':names:paused', record[F.name] or '')) end
if record[F.state] == 'pending' then
  put('sampled', call('GET', P .. ':snapshot'))
  put('held', call('ZSCORE', P .. ':paused:' .. (record[F.name] or ''), id))
end

local workers = {}
for _, worker in ipairs(call('ZREVRANGEBYSCORE', P .. ':workers', '+inf', now - late, 'LIMIT', 0, 100)) do
  workers[#workers + 1] = { worker, call('ZSCORE', P .. ':workers', worker), call('HGETALL', P .. ':worker:' .. worker) }
end
put('workers', workers)
put('alive', call('ZCOUNT', P .. ':workers', now - late, '+inf'))

lib.key_details(id, record, put)
lib.follow_up_details(record, put)
for _, each in pairs(lib.hooks.show) do if each.details then each.details(id, record, put) end end
return lib.told(reply)
