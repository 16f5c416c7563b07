-- Whether this is the entry that was marked so: by "=" and its bytes, or by "#" and their SHA-1.
local function is_marked(entry, mark)
  return mark == "=" .. entry or mark:sub(1, 1) == "#" and mark:sub(2) == redis.sha1hex(entry)
end
