-- Whether `mark` is that of this entry: "=" and its bytes, or "#" and their SHA-1.
local function is_marked(entry, mark)
  return mark == "=" .. entry or mark:sub(1, 1) == "#" and mark:sub(2) == redis.sha1hex(entry)
end
