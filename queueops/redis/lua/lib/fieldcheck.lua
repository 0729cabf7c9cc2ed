-- Consistency check of stored fields: the numbers of records and of lanes. A field that cannot be read counts as absent; a
-- repair removes it.
--@needs lanes numbers store_helpers

fresh.repair = function() return ARGV[1] == '1' end
fresh.found = TABLE

-- Notes a finding. Returns whether it is to be repaired.
function lib.wrong(id, text)
  ctx.found[#ctx.found + 1] = id; ctx.found[#ctx.found + 1] = text
  return ctx.repair
end

-- The check goes on in another call, with this entry, for this call would take too long.
function lib.check_later(entry) ctx.found[#ctx.found + 1] = entry; ctx.found[#ctx.found + 1] = '' end

local function is_whole(value) return string.find(value, '^-?%d+$') and lib.number_of(value) end

local function printed(value) return (string.gsub(string.sub(value, 1, 40), '[^%w%p ]', '?')) end

-- ARGV[3] names the fields that are whole numbers, each with what it is called.
function lib.check_fields(id, record)
  for field, name in string.gmatch(ARGV[3], '(%w+):([%w_]+)') do
    local value = record[field]
    if value and not is_whole(value) and lib.wrong(id, 'its ' .. name .. ' is "' .. printed(value) .. '", not a number') then
      if field == 'u' then
        call('HSET', lib.task_key(id), F.uid, lib.next_number())
      elseif field == 'f' and LEASED[record[F.state]] then
        call('HSET', lib.task_key(id), F.fence, lib.next_number()) -- no worker holds that lease: it ends, and the task runs again
      else
        call('HDEL', lib.task_key(id), field)
      end
    end
  end
end

function lib.check_conf(lane)
  local key = lib.lane_key(lane) .. SUBKEY.conf
  for _, field in ipairs({ 'limit', 'rate', 'weight' }) do
    local _, value = lib.values_of(key, field)
    local text = value and not lib.number_of(value) and 'its ' .. field .. ' is "' .. printed(value) .. '", not a number'
    if text and lib.wrong('~lane:' .. lane, text) then
      call('HDEL', key, field)
      ctx.lane_confs[lane] = nil
      ctx.touched[lane] = true
    end
  end
end
