-- What a consistency check finds, and whether it puts it right.
local repair, found = ARGV[1] == '1', {}

-- Answers whether it is to be put right.
local function wrong(id, text)
  found[#found + 1] = id; found[#found + 1] = text
  return repair
end
