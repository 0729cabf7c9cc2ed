-- Circuit breakers of callbacks. An address that fails several times in a row is left alone until a time: its circuit is open.
-- A callback that asks meanwhile waits until then. The first that asks later is the probe: it has the circuit for one attempt.
-- Its success closes the circuit, its failure opens it for twice as long.
-- Key `circuits`: address -> failures in a row, time of the last one, time until which it is open or its probe has it, ms for
-- which it was opened, '1' while there is a probe, lane; 0 = none.
-- Key `circuits:waiting`: an address, a line break and the id of a callback; all scores are 0. Field `cw` of a callback that
-- waits has the address.
--@needs operator_verbs store_helpers transitions

lib.circuits = { AT_ONCE = 500 }

local MOST, IDLE = 1000, 86400000 -- circuits of a pool, and ms without a failure after which one is forgotten
local LATEST = 3600000 -- ms between the first callback that asks again and the last one

local function read_circuit(stored)
  local fails, at, till, wait, probe, lane = string.match(stored or '', '^(%d+) (%d+) (%d+) (%d+) ([01]) (%S*)$')
  if not fails or #stored > 1000 then return nil end
  return { fails = tonumber(fails), at = tonumber(at), till = tonumber(till), wait = tonumber(wait), probe = probe == '1', lane = lane }
end

local function find(name) return read_circuit(lib.safe_call('HGET', P .. ':circuits', name)) end

local function write(name, circuit)
  local numbers = {}
  for i, number in ipairs({ circuit.fails, circuit.at, circuit.till, circuit.wait }) do numbers[i] = lib.text(number) end
  local stored = table.concat(numbers, ' ') .. ' ' .. (circuit.probe and '1' or '0') .. ' ' .. circuit.lane
  lib.safe_call('HSET', P .. ':circuits', name, stored)
end

-- The range of the callbacks that wait for an address.
local function range_of(name) return '[' .. name .. '\n', '[' .. name .. '\n\255' end

-- Makes room for another circuit.
local function trim()
  if lib.safe_call('HLEN', P .. ':circuits') < MOST then return end
  local found, oldest, least = lib.safe_call('HGETALL', P .. ':circuits'), nil, nil
  for i = 1, #found, 2 do
    local circuit = read_circuit(found[i + 1])
    local at = circuit and max(circuit.at, circuit.till) or 0
    if at < now - IDLE then lib.circuits.close(found[i]) end
    if not least or at < least then oldest, least = found[i], at end
  end
  if lib.safe_call('HLEN', P .. ':circuits') >= MOST then lib.circuits.close(oldest) end
end

-- Asks whether a callback may be sent now. Returns the ms that it waits, and whether failures of the address are noted.
-- Those that wait ask again one after the other: all at once would take the rate and the slots of the other addresses.
function lib.circuits.ask(name, id, attempt_ms)
  local circuit, member = find(name), name .. '\n' .. id
  if not circuit then return 0, false end
  if circuit.till > now then
    lib.safe_call('ZADD', P .. ':circuits:waiting', 0, member)
    lib.safe_call('HSET', lib.task_key(id), F.circuit, name)
    local ahead = lib.safe_call('ZLEXCOUNT', P .. ':circuits:waiting', range_of(name)) - 1
    return circuit.till - now + min(LATEST, ahead * circuit.wait), true
  end
  lib.safe_call('ZREM', P .. ':circuits:waiting', member)
  if circuit.till > 0 then
    circuit.till, circuit.probe = now + attempt_ms, true
    write(name, circuit)
  end
  return 0, true
end

-- A callback that is cancelled, or goes to another address, does not wait any more.
function lib.circuits.leave(id)
  local name = lib.safe_call('HGET', lib.task_key(id), F.circuit)
  if name then lib.safe_call('ZREM', P .. ':circuits:waiting', name .. '\n' .. id) end
end

function lib.hooks.ending.callback.note(id, _, state)
  if state == 'cancelled' then lib.circuits.leave(id) end
end

-- Notes a failure. `most` in a row open the circuit for `first` ms; failed probes for at most `longest`.
function lib.circuits.fail(name, lane, most, first, longest)
  local circuit = find(name)
  if not circuit then
    trim()
    circuit = { fails = 0, till = 0, wait = 0 }
  end
  if circuit.till > now and not circuit.probe then return end -- it was sent before the circuit was opened
  circuit.fails, circuit.lane, circuit.at = circuit.fails + 1, lane, now
  if circuit.till > 0 then
    circuit.wait = min(longest, 2 * circuit.wait)
  elseif circuit.fails >= most then
    circuit.wait = first
  end
  if circuit.wait > 0 then circuit.till, circuit.probe = now + circuit.wait, false end
  write(name, circuit)
end

local function send_now(id)
  local record = lib.read_record(id)
  if record and record[F.kind] == 'callback' and record[F.state] == 'postponed' then lib.operator_verbs.run_now(id, record) end
end

-- Closes a circuit. The callbacks that wait for it start now, so many in one call. While others wait, it stays half open.
-- Returns whether it was open, how many still wait, and how many it started.
function lib.circuits.close(name)
  local circuit = find(name)
  local was_open = circuit ~= nil and circuit.till > 0
  local key, from, to = P .. ':circuits:waiting', range_of(name)
  local waiting = lib.safe_call('ZRANGE', key, from, to, 'BYLEX', 'LIMIT', 0, lib.circuits.AT_ONCE)
  for _, member in ipairs(waiting) do
    lib.safe_call('ZREM', key, member)
    send_now(string.sub(member, #name + 2))
  end
  local left = lib.safe_call('ZLEXCOUNT', key, from, to)
  if left > 0 and circuit then
    circuit.till, circuit.probe = now, false
    write(name, circuit)
  else
    lib.safe_call('HDEL', P .. ':circuits', name)
  end
  return was_open, left, #waiting
end

-- The circuits that a page shows, by lane: for each its address, failures in a row, the time until which it is open ('' = it
-- is closed), whether its probe runs, and the callbacks that wait.
function lib.circuits.by_lane()
  local found, lanes = lib.safe_call('HGETALL', P .. ':circuits'), {}
  for i = 1, #found, 2 do
    local circuit = read_circuit(found[i + 1])
    if circuit then
      local is_open = circuit.till > 0
      local waiting = is_open and lib.safe_call('ZLEXCOUNT', P .. ':circuits:waiting', range_of(found[i])) or 0
      local till, probe = is_open and lib.text(circuit.till) or '', circuit.probe and '1' or ''
      lib.append(lanes, circuit.lane, { found[i], lib.text(circuit.fails), till, probe, waiting })
    end
  end
  return lanes
end
