-- What the jobs of this call hold, and what their incarnation holds, goes with what ends here: see holdings.hpp.  append()
-- there puts it behind all other keys and arguments: a key for each thing; and its entry of the call ("0": the call), what
-- it is, who holds it, and how it ends; and last how many things there are, 0 for none.  All of it is taken off KEYS and
-- ARGV here, so that the script finds what it would find without it.
-- include: batches/pieces/batches.lua
local let_go, noted
local going = tonumber(table.remove(ARGV))
if going > 0 then
  local function delete(one) redis.call("DEL", one.key) end
  -- What goes with the last holder of a lock: the hash of these comes before it, and a hash without fields is no key.
  local function with_last(way)
    return function(one)
      if redis.call("EXISTS", one.holders) == 0 then way(one) end
    end
  end
  -- The type of the key; a call that changes nothing, frees memory as far as Redis knows, and fails for want of the right; and
  -- how it is let go, of one thing {key, member, verdict}.  Whoever holds it by now is left alone.
  local ways = {
    unique = {"string", {"DEL"}, delete},
    running = {"string", {"DEL"}, delete},
    -- A lock of the gem sidekiq-unique-jobs.
    gem_holders = {"hash", {"HDEL", "~"}, function(one) redis.call("HDEL", one.key, one.member) end},
    gem_text = {"string", {"DEL"}, with_last(delete)},
    gem_primed = {"list", {"DEL"}, with_last(delete)},
    gem_index = {"zset", {"ZREM", "~"}, with_last(function(one) redis.call("ZREM", one.key, one.member) end)},
    -- The note of what an incarnation holds, in its in-flight hash: `member` is the text that the sender knows, `verdict` what
    -- remains of it.
    note = {"hash", {"HDEL", "~"}, function(one)
      local field = ARGV[1] .. " holds"
      if one.verdict == "" then redis.call("HDEL", one.key, field) else redis.call("HSET", one.key, field, one.verdict) end
    end},
    -- What a batch counts: see batches/batch.hpp.  A job has ended, so that nothing here may stop the script.
    batch = {"hash", {"HDEL", "~"}, function(one) pcall(batches().end_jobs, one.key, one.member, one.verdict) end},
    batch_callback = {"hash", {"HDEL", "~"}, function(one) pcall(batches().end_callback, one.key, one.member, one.verdict) end},
  }
  local all = {}
  for i = going, 1, -1 do
    local last = #ARGV
    all[i] = {key = KEYS[#KEYS], of = ARGV[last - 3], what = ARGV[last - 2], member = ARGV[last - 1], verdict = ARGV[last]}
    KEYS[#KEYS] = nil
    for at = last, last - 3, -1 do ARGV[at] = nil end
  end
  local holders
  for _, one in ipairs(all) do
    local way = ways[one.what]
    if not way then return redis.error_reply("ERR nothing is let go as " .. one.what) end
    if one.what == "note" then noted = one.member end
    local is_there = redis.call("TYPE", one.key).ok == way[1]    -- of another type it is nobody's of ours
    if one.what == "gem_holders" then holders = one.key end
    one.holders = holders
    if is_there and way[3] == delete then is_there = redis.call("GET", one.key) == one.member end
    if is_there then one.go = way[3] end
    redis.call(way[2][1], one.key .. "~", unpack(way[2], 2))
  end
  let_go = function(entry)
    for _, one in ipairs(all) do
      if one.go and one.of == tostring(entry) then one.go(one) end
    end
  end
end
