-- Releases the holdings of jobs and their incarnation that end in this call: locks, sequences, batches and so on, see
-- holdings.hpp.  append() there puts them after all other keys and arguments.  KEYS end with a key for each holding.  ARGV
-- end with four arguments for each: its entry of the call ("0": the call itself), its kind, its holder, and how the job
-- ends.  The last argument is the number of holdings, 0 for none.  This piece removes them from KEYS and ARGV, so the rest
-- of the script does not see them.
-- include: batches/pieces/batches.lua
-- include: pieces/sequences.lua
local let_go, noted
local going = tonumber(table.remove(ARGV))
if going > 0 then
  local function delete(one) redis.call("DEL", one.key) end
  -- Makes a function for a key that ends with the last holder of a lock.  The hash of holders comes before it in the call,
  -- and a hash that has lost its last field no longer exists.
  local function with_last(way)
    return function(one)
      if redis.call("EXISTS", one.holders) == 0 then way(one) end
    end
  end
  -- For each kind of holding: the type of its key; a call that changes nothing, counts for Redis as one that frees memory,
  -- and fails if the right is missing; and a function that releases one holding {key, member, verdict}, unless it has
  -- another holder by now.
  local ways = {
    unique = {"string", {"DEL"}, delete},
    running = {"string", {"DEL"}, delete},
    -- The report of a job: `member` is its text, and `verdict` the seconds that it is kept.  It replaces an earlier one.  If
    -- it cannot be written, the job ends all the same.
    report = {"list", {"DEL"}, function(one)
      redis.call("DEL", one.key)
      redis.pcall("RPUSH", one.key, one.member)
      redis.pcall("EXPIRE", one.key, one.verdict)
    end, "none"},
    -- The result of a step of a flow: `member` is its text, `verdict` the step's name.  It is kept as long as the batch.
    step_result = {"hash", {"HDEL", "~"}, function(one)
      local left = redis.call("PTTL", one.key:sub(1, -#":results" - 1))
      if left <= 0 then return end
      redis.pcall("HSET", one.key, one.verdict, one.member)
      redis.pcall("PEXPIRE", one.key, left)
    end, "none"},
    -- A lock of the gem sidekiq-unique-jobs.
    gem_holders = {"hash", {"HDEL", "~"}, function(one) redis.call("HDEL", one.key, one.member) end},
    gem_text = {"string", {"DEL"}, with_last(delete)},
    gem_primed = {"list", {"DEL"}, with_last(delete)},
    gem_index = {"zset", {"ZREM", "~"}, with_last(function(one) redis.call("ZREM", one.key, one.member) end)},
    -- The sequence `verdict`, which the job `member` holds: it goes to the next that waits.  Without a member, `verdict` is a
    -- payload that no worker could read.
    sequence = {"hash", {"HDEL", "~"}, function(one)
      local order = sequences(one.key:sub(1, -#"brood:sequences" - 1))
      if one.member == "" then order.release_unreadable(one.verdict) else order.release(one.verdict, one.member) end
    end},
    -- The turn in the sequence `verdict`: it goes to the job that has this lock, if that job waits for the sequence.  The
    -- job that wants the lock has gone to the head of its queue, KEYS[3].
    turn_for_lock = {"string", {"DEL"}, function(one)
      local holder = redis.call("GET", one.key)
      if not holder then return end
      sequences(KEYS[1]:sub(1, KEYS[1]:find("brood:inflight:", 1, true) - 1)).let_first(one.verdict, holder, KEYS[3])
    end},
    -- The note of what an incarnation holds, in its in-flight hash: `member` is the text that the sender knows, `verdict`
    -- the part of it that remains.
    note = {"hash", {"HDEL", "~"}, function(one)
      local field = ARGV[1] .. " holds"
      if one.verdict == "" then redis.call("HDEL", one.key, field) else redis.call("HSET", one.key, field, one.verdict) end
    end},
  }
  -- Counts in a batch: see batches/batch.hpp.  The job has ended already, so no error here may stop the script.
  local function count_in_batch(one)
    pcall(function()
      if one.what == "batch_callback" then return batches().end_callback(one.key, one.member, one.verdict) end
      if one.verdict == "done" and end_jobs_in_order(one.key, one.member) then return end
      batches().end_jobs(one.key, one.member, one.verdict)
    end)
  end
  local all = {}
  for i = going, 1, -1 do
    local last = #ARGV
    all[i] = {key = KEYS[#KEYS], of = ARGV[last - 3], what = ARGV[last - 2], member = ARGV[last - 1], verdict = ARGV[last]}
    KEYS[#KEYS] = nil
    for at = last, last - 3, -1 do ARGV[at] = nil end
  end
  local holders
  for _, one in ipairs(all) do
    local counts = one.what == "batch" or one.what == "batch_callback"
    if counts then one.go = count_in_batch end
    local way = ways[one.what]
    if not way and not counts then return redis.error_reply("ERR nothing is let go as " .. one.what) end
    if one.what == "note" then noted = one.member end
    if one.what == "gem_holders" then holders = one.key end
    one.holders = holders
    if way then
      local kind = redis.call("TYPE", one.key).ok
      local is_there = kind == way[1] or kind == way[4]    -- a key of another type is not ours
      if is_there and way[3] == delete then is_there = redis.call("GET", one.key) == one.member end
      if is_there then one.go = way[3] end
      redis.call(way[2][1], one.key .. "~", unpack(way[2], 2))
    end
  end
  let_go = function(entry)
    for _, one in ipairs(all) do
      if one.go and one.of == tostring(entry) then one.go(one) end
    end
  end
end
