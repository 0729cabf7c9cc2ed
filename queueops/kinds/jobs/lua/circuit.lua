#!lua flags=allow-oom
-- circuit: a callback asks whether it may be sent, or notes what its address has answered; an operator closes circuits.
-- KEYS: 1 the pool's prefix
-- ARGV: 1 'ask', 'failure' or 'close'; 2 the address ('' of close: all addresses of the lane); 3 lane;
--       of ask: 4 id of the callback, 5 ms that an attempt takes at most;
--       of failure: 4 failures in a row that open the circuit, 5 ms for which it is open first, 6 the longest such time
-- Reply: of ask: ms until the callback may ask again (0 = it may be sent), '1' if failures of the address are noted;
--        of close: number of circuits that were open, '1' if callbacks still wait or circuits are left: close again.
-- Transitions: run_now.
--@needs circuits lanes transitions wakeup

local verb, name, lane = ARGV[1], ARGV[2], ARGV[3]
local first, second, started = 0, '', 0

local function close(each)
  local was_open, waiting, count = lib.circuits.close(each)
  started = started + count
  if was_open then first = first + 1 end
  if waiting > 0 then second = '1' end
end

if verb == 'ask' then
  local wait, noted = lib.circuits.ask(name, ARGV[4], tonumber(ARGV[5]))
  first, second = wait, noted and '1' or ''
elseif verb == 'failure' then
  lib.circuits.fail(name, lane, tonumber(ARGV[4]), tonumber(ARGV[5]), tonumber(ARGV[6]))
elseif name ~= '' then
  close(name)
else
  for _, circuit in ipairs(lib.circuits.by_lane()[lane] or {}) do
    local address = unpack(circuit)
    if started < lib.circuits.AT_ONCE then close(address) else second = '1' end
  end
end
lib.flush()
lib.flush_lanes()
lib.wake(ctx.brought)
return { first, second }
