-- Starts of values: a list and a log have the beginning of a large value. An encrypted value opens only as a whole.

local SEALED, LONGEST_SEALED = '"\\u0071e1:', 65536

-- The first so many bytes, and the rest of an encrypted value that begins in them.
function lib.start_of(value, longest)
  if #value <= longest then return value end
  local start = string.sub(value, 1, longest)
  local at = string.match(start, '.*()' .. SEALED)
  if not at then return start end
  local close = string.find(value, '"', at + #SEALED, true) or #value
  return string.sub(value, 1, min(max(close, longest), LONGEST_SEALED))
end
