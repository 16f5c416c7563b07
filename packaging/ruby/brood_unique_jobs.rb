# Unique jobs of brood, from Ruby: Sidekiq 6.4 to 8.
#
#   require "brood_unique_jobs"
#   BroodUniqueJobs.enable                      # in programs that push, and in Sidekiq's own processes
#
#   class MonthlyReport
#     include Sidekiq::Worker
#     sidekiq_options unique_for: 3600          # seconds; and unique_until: "done" (default), "start", "running"
#   end
#
# A push takes the lock brood:unique:<digest> and pushes the job by one script, so that neither is there without the
# other.  What another job like it holds is not pushed, and perform_async returns nil.  Of jobs with the same class,
# queue and arguments there is to be one; `unique_by` (an array) counts in the place of the arguments.
#
# `on_conflict` says what else becomes of it: "replace": it takes the place and the lock of the other, if that still
# waits; "extend": it is not pushed, and the lock lives `unique_for` from now; "after": it is pushed, and begins once it
# has the lock.
#
# Whoever ends a job lets go of its lock.  brood does that in the very step that ends it, so there no crash leaves a
# lock.  The limits of Ruby's Sidekiq: it lets go by a command of its own behind the job, so a process that is killed in
# between leaves the lock, and so do jobs that its web pages delete.  `brood locks check` lets go of such locks, as every
# supervisor does once an hour; `unique_for` does at the latest.  Of two pushes at the same moment the second may return
# a jid though it was not pushed: which came first is known only after the client's middleware.  What is unique while it
# runs ("running"), or waits for the lock ("after"), does so only among brood's workers.
require "digest"
require "json"
require "sidekiq"
require "sidekiq/api"

module BroodUniqueJobs
  PUSH = <<~LUA.freeze
    local holder = redis.call("GET", KEYS[1])
    local is_held = holder and holder ~= ARGV[1]
    if is_held and ARGV[6] ~= "after" then return holder end
    local wanted = ARGV[3] ~= "" and "zset" or "list"
    local kind = redis.call("TYPE", KEYS[2]).ok
    if kind ~= wanted and kind ~= "none" then return redis.error_reply("WRONGTYPE " .. KEYS[2] .. " is a " .. kind) end
    -- Changes nothing: fails before anything is pushed where we may not write the lock.
    if not is_held then redis.call("SET", KEYS[1], holder or "", "XX", "KEEPTTL") end
    if ARGV[3] ~= "" then
      redis.call("ZADD", KEYS[2], ARGV[3], ARGV[4])
    else
      redis.call("SADD", KEYS[3], ARGV[5])
      redis.call("LPUSH", KEYS[2], ARGV[4])
    end
    if is_held then return "" end
    if ARGV[2] == "0" then redis.call("SET", KEYS[1], ARGV[1]) else redis.call("SET", KEYS[1], ARGV[1], "PX", ARGV[2]) end
    return ""
  LUA
  # Keys and arguments as PUSH has them, then where the other job waits, and that job's jid and text.
  REPLACE = <<~LUA.freeze
    local lock, to, queues, from = unpack(KEYS)
    local jid, longest, score, new, queue, _, holder, old = unpack(ARGV)
    if redis.call("GET", lock) ~= holder then return 0 end
    local waits_in_queue, place = redis.call("TYPE", from).ok == "list", nil
    if waits_in_queue then place = redis.call("LPOS", from, old) else place = redis.call("ZSCORE", from, old) end
    if not place then return 0 end
    -- Both change nothing: they fail before anything is pushed where we may not write these.
    redis.call("SET", lock, "", "NX")
    if waits_in_queue then redis.call("LREM", from, 1, "\\0") else redis.call("ZREM", from, "\\0") end
    local is_beside = from:sub(1, #to + 1) == to .. "@" and not from:find("@", #to + 2, true)
    if waits_in_queue and (from == to or is_beside) then
      redis.call("LSET", from, place, new)
    else
      if score == "" then
        redis.call("SADD", queues, queue)
        redis.call("LPUSH", to, new)
      else
        redis.call("ZADD", to, score, new)
      end
      if waits_in_queue then redis.call("LREM", from, 1, old) else redis.call("ZREM", from, old) end
    end
    if longest == "0" then redis.call("SET", lock, jid) else redis.call("SET", lock, jid, "PX", longest) end
    return 1
  LUA
  EXTEND = <<~LUA.freeze
    local left = redis.call("PTTL", KEYS[1])
    if left >= 0 and left < tonumber(ARGV[1]) then redis.call("PEXPIRE", KEYS[1], ARGV[1]) end
    return left
  LUA
  REPLACES = "brood_replaces".freeze # where the job lies that is to be replaced, from the middleware to the push
  RELEASE = 'if redis.call("GET", KEYS[1]) ~= ARGV[1] then return 0 end return redis.call("DEL", KEYS[1])'.freeze
  SIDEKIQ = Sidekiq::VERSION.to_i
  LONGEST = 10**15 # milliseconds that Redis takes

  module_function

  def enable
    Sidekiq::Client.prepend(Push) unless Sidekiq::Client.ancestors.include?(Push)
    add = ->(config) { config.client_middleware { |chain| chain.add Client } }
    Sidekiq.configure_client(&add)
    Sidekiq.configure_server do |config|
      add.call(config)
      config.server_middleware { |chain| chain.add Server }
      config.death_handlers << ->(job, _error) { BroodUniqueJobs.release(job) }
    end
  end

  def key(lock) = "brood:unique:#{lock}"

  # As brood makes it: SHA-256 in base64url, without padding.
  def lock_of(job, queue)
    text = [job["class"].to_s, queue, JSON.generate(job["unique_by"] || job["args"])].join("\n")
    [Digest::SHA256.digest(text)].pack("m0").tr("+/", "-_").delete("=")
  end

  # Sidekiq's pages print such a member as it is, and there may be arguments in it: no markup.
  def shown(unique_by) = JSON.parse(JSON.generate(unique_by).tr("<>", "‹›"))

  # The seconds, 0 for as long as the job lives; nil: it is not unique, or only while it runs.
  def seconds_of(job)
    return if job.key?("unique_for") && !(job["unique_for"].is_a?(Numeric) && job["unique_for"].positive?)
    return unless job["unique_for"] || job["unique_until"]
    job["unique_for"] || 0 unless job["unique_until"].to_s == "running"
  end

  def script(connection, text, keys, arguments)
    return connection.call("EVAL", text, keys.size, *keys, *arguments) if SIDEKIQ >= 7
    connection.eval(text, keys, arguments)
  end

  # Where the job waits that holds the lock, its jid and its text; nil: it runs.  In brood jobs also wait in quarantine,
  # and in queues beside their own for a place of a cap: "<queue>@<cap>".
  def waiting(lock, queues, holder)
    sets = ["schedule", "retry", "brood:quarantined"].to_h { |key| [key, Sidekiq::JobSet.new(key)] }
    beside = Sidekiq.redis { |connection| connection.smembers("brood:set_aside") }
    lists = queues.flat_map { |queue| [queue, *beside.select { |aside| aside.rpartition("@").first == queue }] }
    sets.merge(lists.to_h { |name| ["queue:#{name}", Sidekiq::Queue.new(name)] }).each do |key, jobs|
      found = jobs.find_job(holder)
      return [key, holder, found.value] if found && found["unique_lock"] == lock
    end
    nil
  end

  # For how long its lock lives from now.
  def milliseconds_of(job)
    milliseconds = (seconds_of(job) * 1000).round
    at = job["at"]
    milliseconds += [((at - Time.now.to_f) * 1000).round, 0].max if at && milliseconds.positive?
    [milliseconds, LONGEST].min
  end

  # Whether it is pushed though another job holds its lock.
  def pushed_beside?(job, queue, lock, holder)
    case job["on_conflict"].to_s
    when "after" then true
    when "replace" then !(job[REPLACES] = waiting(lock, [queue, job["retry_queue"]].compact.uniq, holder)).nil?
    when "extend"
      Sidekiq.redis { |connection| script(connection, EXTEND, [key(lock)], [milliseconds_of(job)]) }
      false
    end
  end

  def holder(lock) = Sidekiq.redis { |connection| connection.get(key(lock)) }

  def release(job)
    return unless job["unique_lock"]
    Sidekiq.redis { |connection| script(connection, RELEASE, [key(job["unique_lock"])], [job["jid"]]) }
  end

  # Refuses what another job holds, and names the lock in the payload, for whoever ends the job.
  class Client
    include Sidekiq::ClientMiddleware if defined?(Sidekiq::ClientMiddleware)

    def call(_job_class, job, queue, _pool)
      job["unique_by"] = BroodUniqueJobs.shown(job["unique_by"]) if job["unique_by"]
      return yield if job["unique_lock"] || BroodUniqueJobs.seconds_of(job).nil?
      lock = BroodUniqueJobs.lock_of(job, queue)
      holder = BroodUniqueJobs.holder(lock)
      if holder && holder != job["jid"] && !BroodUniqueJobs.pushed_beside?(job, queue, lock, holder)
        Sidekiq.logger.info { "#{job["class"]} is not pushed: job #{holder} holds its lock" }
        return
      end
      job["unique_until"] = job.fetch("unique_until", "done").to_s
      job["on_conflict"] = job["on_conflict"].to_s if job["on_conflict"]
      job["unique_lock"] = lock
      yield
    end
  end

  # Pushes such jobs each with its lock; a retry that Sidekiq pushes has its lock already.
  module Push
    private

    def atomic_push(connection, payloads)
      unique, others = payloads.partition { |job| job["unique_lock"] && BroodUniqueJobs.seconds_of(job) }
      unique.each { |job| push_with_lock(connection, job) }
      super(connection, others) unless others.empty?
    end

    def push_with_lock(connection, job)
      at = job["at"]
      from, *replaced = job[REPLACES]
      text = job.reject { |name, _| ["at", REPLACES].include?(name) }
      text["enqueued_at"] = BroodUniqueJobs::SIDEKIQ >= 8 ? Process.clock_gettime(Process::CLOCK_REALTIME, :millisecond) : Time.now.to_f unless at
      place = at ? "schedule" : "queue:#{job["queue"]}"
      keys = [BroodUniqueJobs.key(job["unique_lock"]), place, "queues"]
      arguments = [job["jid"], BroodUniqueJobs.milliseconds_of(job), at ? at.to_s : "", Sidekiq.dump_json(text), job["queue"],
                   job["on_conflict"].to_s]
      # All of it goes to Redis before any of it is answered; if the other has let go by now, the first has pushed it.
      BroodUniqueJobs.script(connection, PUSH, keys, arguments)
      BroodUniqueJobs.script(connection, REPLACE, keys + [from], arguments + replaced) if from
    end
  end

  # Where Ruby's Sidekiq performs the job.  A failure keeps the lock, as it is tried again; one that is not is over.
  class Server
    include Sidekiq::ServerMiddleware if defined?(Sidekiq::ServerMiddleware)

    def call(_instance, job, _queue)
      BroodUniqueJobs.release(job) if job["unique_until"] == "start"
      yield
      BroodUniqueJobs.release(job)
    rescue StandardError
      BroodUniqueJobs.release(job) if job["retry"] == false
      raise
    end
  end
end
