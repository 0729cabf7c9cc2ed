-- Consistency check of stored fields: the numbers of records and of lanes, and the commands of the outbox. A field that
-- cannot be read counts as absent; a repair removes it.
local repair, found = ARGV[1] == '1', {}

-- Notes a finding. Returns whether it is to be repaired.
local function wrong(id, text)
  found[#found + 1] = id; found[#found + 1] = text
  return repair
end

local function is_whole(value) return string.find(value, '^-?%d+$') and number_of(value) end

local function printed(value) return (string.gsub(string.sub(value, 1, 40), '[^%w%p ]', '?')) end

-- ARGV[3] names the fields that are whole numbers, each with what it is called.
local function check_fields(id, record)
  for field, name in string.gmatch(ARGV[3], '(%w+):([%w_]+)') do
    local value = record[field]
    if value and not is_whole(value) and wrong(id, 'its ' .. name .. ' is "' .. printed(value) .. '", not a number') then
      if field == 'u' then
        call('HSET', task_key(id), 'u', next_number())
      elseif field == 'f' and LEASED[record.s] then
        call('HSET', task_key(id), 'f', next_number()) -- no worker holds that lease: it ends, and the task runs again
      else
        call('HDEL', task_key(id), field)
      end
    end
  end
end

local function check_conf(lane)
  local key = lane_key(lane) .. '#conf'
  for _, field in ipairs({ 'limit', 'rate', 'weight' }) do
    local value = (fields_of(key, field) or {})[1]
    local text = value and not number_of(value) and 'its ' .. field .. ' is "' .. printed(value) .. '", not a number'
    if text and wrong('~lane:' .. lane, text) then
      call('HDEL', key, field)
      lane_confs[lane] = nil
      touched[lane] = true
    end
  end
end

local function check_command(cid)
  local command, dead = read_command(cid), safe_call('ZSCORE', COMMANDS_DEAD, cid)
  if command == nil or dead then return end
  if not command then
    if wrong('~command:' .. cid, 'it is not a command') then set_aside(cid) end
  elseif not (safe_call('ZSCORE', COMMANDS, cid) or safe_call('ZSCORE', COMMANDS_LOCKED, cid))
    and wrong('~command:' .. cid, 'it is in no index of the outbox') then
    safe_call('ZADD', COMMANDS, NOW, cid)
    outbox.touched = true
  end
end
