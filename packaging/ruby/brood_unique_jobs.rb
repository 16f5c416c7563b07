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
# other.  If another job holds the lock, nothing is pushed, and perform_async returns nil.  Of jobs with the same class,
# queue and arguments there is to be one; `unique_by` (an array) counts in the place of the arguments.  An Active Job is
# known by its own class and arguments: its job_id, times and executions do not count.
#
# `on_conflict` says what else becomes of a push while another job holds the lock.  "replace": the job takes the place
# and the lock of the other, if that still waits.  "extend": nothing is pushed, and the lock lives `unique_for` from now.
# "after": the job is pushed, and begins once it has the lock.
#
# Only the first push of a job can be refused.  A job that was pushed before, and names its lock, is always pushed: a
# retry or a scheduled job that Ruby's scheduler moves, Sidekiq's "Retry Now" and "Add to Queue", an iterable job that
# was interrupted, an Active Job that `retry_on` enqueues again.  It keeps the lock, takes it if it is free, and goes
# without it if another job has it by now.  A dead job alone waits: while another job holds its lock, "Retry Now" leaves
# it in the dead set with a line in the log, as brood's own page does.  perform_inline performs the job at once, and
# asks for no lock.
#
# The lock goes with the job: with its success, its death, its discard, and when it is killed or deleted one by one
# through Sidekiq's API and pages.  brood lets go in the very step that ends the job, so there no crash leaves a lock.
# Ruby's Sidekiq lets go by a command of its own behind that step.  So a process that is killed in between leaves the
# lock, and so does a whole queue or set that is cleared.  `brood locks check` lets go of such locks, as every supervisor
# does once an hour; `unique_for` does at the latest.  A job that is unique while it runs ("running"), or waits for the
# lock ("after"), does so only among brood's workers.
require "digest"
require "json"
require "sidekiq"
require "sidekiq/api"
require "sidekiq/job_retry"

module BroodUniqueJobs
  # Pushes a job for the first time.  KEYS: the lock, the queue or "schedule", "queues".  ARGV: jid, milliseconds that the
  # lock lives ("0": as long as the job), score ("" for the queue), text, the queue's name, on_conflict.  Returns who holds
  # the lock, if nothing was pushed for that, else "".
  PUSH = <<~LUA.freeze
    local holder = redis.call("GET", KEYS[1])
    local is_held = holder and holder ~= ARGV[1]
    if is_held and ARGV[6] == "extend" then
      local left = redis.call("PTTL", KEYS[1])    -- one that lives as long as its job goes on doing so
      if left >= 0 and left < tonumber(ARGV[2]) then redis.call("PEXPIRE", KEYS[1], ARGV[2]) end
    end
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
  # Pushes a job that was pushed before, whoever holds its lock.  Its sender has taken it from where it lay: whatever is
  # wrong with the lock, the job is pushed.  Keys and arguments as PUSH has them, and instead of on_conflict the jid of the
  # job whose lock this one takes over.
  PUSH_AGAIN = <<~LUA.freeze
    if ARGV[3] ~= "" then
      redis.call("ZADD", KEYS[2], ARGV[3], ARGV[4])
    else
      redis.call("SADD", KEYS[3], ARGV[5])
      redis.call("LPUSH", KEYS[2], ARGV[4])
    end
    local holder = redis.pcall("GET", KEYS[1])
    if holder and holder ~= ARGV[6] then return "" end
    if ARGV[2] == "0" then redis.pcall("SET", KEYS[1], ARGV[1]) else redis.pcall("SET", KEYS[1], ARGV[1], "PX", ARGV[2]) end
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
  RELEASE = 'if redis.call("GET", KEYS[1]) ~= ARGV[1] then return 0 end return redis.call("DEL", KEYS[1])'.freeze
  SIDEKIQ = Sidekiq::VERSION.to_i
  LONGEST = 10**15 # milliseconds that Redis takes
  LONGEST_UNIQUE_FOR = 10**9 # seconds, as brood has it
  NUMBER = /\A-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?\z/ # as JSON writes it
  FIRST = "brood_first_push".freeze # a member from the middleware to the push, which does not store it
  TAKES_OVER = "brood_takes_over".freeze # likewise: the jid of the job whose lock this one takes over
  JOBS_PER_CALL = 100
  DEATH_HANDLER = ->(job, _error) { BroodUniqueJobs.let_go(job) }
  ATTEMPTS_TO_REPLACE = 10 # each time another client has moved the holder, or taken its lock, meanwhile

  module_function

  def enable
    prepend_once(Sidekiq::Client, Push)
    prepend_once(Sidekiq::JobRecord, Deletion)
    prepend_once(Sidekiq::SortedEntry, Deletion)
    prepend_once(Sidekiq::SortedEntry, Raising)
    prepend_once(Sidekiq::DeadSet, Dead)
    prepend_once(Sidekiq::JobRetry, Retries)
    Sidekiq.configure_client { |config| add_to(config) }
    Sidekiq.configure_server { |config| add_to(config) }
  end

  # A process that only pushes may become one that performs: embedded, from Sidekiq 7 on.
  def add_to(config)
    add_client(config)
    config.server_middleware { |chain| chain.add Server }
    config.death_handlers << DEATH_HANDLER unless config.death_handlers.include?(DEATH_HANDLER)
  end

  def prepend_once(patched, patch)
    patched.prepend(patch) unless patched.ancestors.take_while { |one| one != patched }.include?(patch)
  end

  # Two ciphertexts of one argument differ: the lock is named before brood_encryption.rb encrypts it.
  def add_client(config)
    config.client_middleware do |chain|
      encrypts = defined?(BroodEncryption::Client) && chain.exists?(BroodEncryption::Client)
      encrypts ? chain.insert_before(BroodEncryption::Client, Client) : chain.add(Client)
    end
  end

  # With Sidekiq's own testing modes no job reaches Redis, and none is unique.
  def testing? = defined?(Sidekiq::Testing) && Sidekiq::Testing.enabled?

  def key(lock) = "brood:unique:#{lock}"

  # As brood makes it: SHA-256 in base64url, without padding.
  def lock_of(job, queue)
    name, arguments = identity_of(job)
    text = [name, queue, JSON.generate(job["unique_by"] || arguments)].join("\n")
    [Digest::SHA256.digest(text)].pack("m0").tr("+/", "-_").delete("=")
  end

  # The class and the arguments: of an Active Job those that its author wrote.
  def identity_of(job)
    active = active_job(job)
    active ? [active["job_class"], active["arguments"]] : [job["class"].to_s, job["args"]]
  end

  # What Active Job wraps into one argument; nil for every other job.
  def active_job(job)
    wrapped = job["args"].first if job["wrapped"] && job["args"].is_a?(Array) && job["args"].size == 1
    wrapped if wrapped.is_a?(Hash) && wrapped["job_class"].is_a?(String) && wrapped["arguments"].is_a?(Array)
  end

  # Sidekiq's pages print such a member as it is, and there may be arguments in it: no markup.
  def shown(unique_by) = JSON.parse(JSON.generate(unique_by).tr("<>", "‹›"))

  # The seconds, 0 for as long as the job lives; nil: it is not unique, or only while it runs.  Raises ArgumentError for
  # what is no number: JSON makes "3600" of 1.hour, and that is one.
  def seconds_of(job)
    seconds = number(job["unique_for"]) if job["unique_for"]
    return if job.key?("unique_for") && !seconds&.positive?
    return unless seconds || job["unique_until"]
    seconds || 0 unless job["unique_until"].to_s == "running"
  end

  def number(value)
    number = case value
             when Integer, Float then value
             else JSON.parse(value.to_s) if value.to_s.match?(NUMBER)
             end
    return number if number && number >= 0 && number <= LONGEST_UNIQUE_FOR
    raise ArgumentError, "unique_for is no number of seconds: #{value.inspect}"
  end

  # Whether its push goes with a lock.
  def locked?(job)
    job["unique_lock"] && !seconds_of(job).nil?
  rescue ArgumentError
    false
  end

  def script(connection, text, keys, arguments)
    return connection.call("EVAL", text, keys.size, *keys, *arguments) if SIDEKIQ >= 7
    connection.eval(text, keys, arguments)
  end

  def call(connection, *words) = connection.call(*words)

  # Where the job waits that holds the lock, its jid and its text; nil: it runs.  As jobs go: one that becomes due while we
  # look is met in the queue.  In brood jobs also wait in quarantine, and in queues beside their own for a place of a cap:
  # "<queue>@<cap>".
  def waiting(connection, lock, queues, holder)
    beside = call(connection, "SMEMBERS", "brood:set_aside")
    lists = queues.flat_map { |queue| [queue, *beside.select { |aside| aside.rpartition("@").first == queue }] }
    ["schedule", "retry", "brood:quarantined", *lists.map { |name| "queue:#{name}" }].each do |key|
      texts = key.start_with?("queue:") ? texts_of_list(connection, key) : texts_of_set(connection, key, lock)
      text = texts.find { |one| one.include?(lock) && holds?(one, lock, holder) }
      return [key, holder, text] if text
    end
    nil
  end

  def holds?(text, lock, holder)
    job = JSON.parse(text)
    job["unique_lock"] == lock && job["jid"] == holder
  rescue JSON::ParserError
    false
  end

  def texts_of_set(connection, key, lock)
    Enumerator.new do |texts|
      cursor = "0"
      loop do
        cursor, found = call(connection, "ZSCAN", key, cursor, "MATCH", "*#{lock}*", "COUNT", 1000)
        found.each_slice(2) { |text, _score| texts << text }
        break if cursor == "0"
      end
    end
  end

  def texts_of_list(connection, key)
    Enumerator.new do |texts|
      (0..).step(1000) do |first|
        page = call(connection, "LRANGE", key, first, first + 999)
        page.each { |text| texts << text }
        break if page.empty?
      end
    end
  end

  # For how long its lock lives from now.
  def milliseconds_of(job)
    milliseconds = (seconds_of(job) * 1000).round
    at = job["at"]
    milliseconds += [((at - Time.now.to_f) * 1000).round, 0].max if at && milliseconds.positive?
    [milliseconds, LONGEST].min
  end

  # The other job that holds its lock; nil: there is none.
  def other_holder(job)
    holder = Sidekiq.redis { |connection| connection.get(key(job["unique_lock"])) }
    holder unless holder == job["jid"]
  end

  # Lets go of the lock if this job holds it.
  def release(job)
    return unless job["unique_lock"]
    Sidekiq.redis { |connection| script(connection, RELEASE, [key(job["unique_lock"])], [job["jid"]]) }
  end

  # The same for a job that has ended: that its lock stays is no failure of the job.
  def let_go(job)
    release(job)
  rescue StandardError => error
    Sidekiq.logger.warn { "the lock of #{job["class"]} #{job["jid"]} stays until brood checks it: #{error.message}" }
  end

  # Names the lock in the payload of a job that is pushed for the first time.  Its push asks who holds it.
  class Client
    include Sidekiq::ClientMiddleware if defined?(Sidekiq::ClientMiddleware)

    def call(_job_class, job, queue, _pool)
      return yield if BroodUniqueJobs.testing?
      job["unique_by"] = BroodUniqueJobs.shown(job["unique_by"]) if job["unique_by"]
      name_lock(job, queue) unless job["unique_lock"] || BroodUniqueJobs.seconds_of(job).nil?
      yield
    end

    private

    def name_lock(job, queue)
      job["unique_for"] = BroodUniqueJobs.number(job["unique_for"]) if job["unique_for"]
      job["unique_until"] = job.fetch("unique_until", "done").to_s
      job["on_conflict"] = job["on_conflict"].to_s if job["on_conflict"]
      job["unique_lock"] = BroodUniqueJobs.lock_of(job, queue)
      before = Server.running
      goes_on = before && before["unique_lock"] == job["unique_lock"] && same_active_job?(before, job)
      job[goes_on ? TAKES_OVER : FIRST] = goes_on ? before["jid"] : true
    end

    # `retry_on` enqueues a job again while it still runs.
    def same_active_job?(before, job)
      id = BroodUniqueJobs.active_job(job)&.fetch("job_id", nil)
      id && id == BroodUniqueJobs.active_job(before)&.fetch("job_id", nil)
    end
  end

  # Pushes such jobs each with its lock.  The jid of a job that is refused is taken out of the payload, so that Sidekiq's
  # client returns nil in its place.
  module Push
    def push_bulk(...) = SIDEKIQ < 7 ? super.compact : super # 6 leaves out what is not pushed

    private

    def raw_push(payloads)
      return super if BroodUniqueJobs.testing?
      unique, others = payloads.partition { |job| BroodUniqueJobs.locked?(job) && !goes_into_batch?(job) }
      unique.each_slice(JOBS_PER_CALL) { |jobs| push_with_locks(jobs) }
      super(others) unless others.empty?
      true
    end

    # brood_batch.rb takes the lock of such a job where it pushes it.
    def goes_into_batch?(job) = defined?(Brood::Batch) && Brood::Batch.takes?(job)

    def push_with_locks(jobs)
      with_primary do |connection|
        holders = connection.pipelined { |pipeline| jobs.each { |job| push_one(pipeline, job) } }
        jobs.zip(holders).each { |job, holder| heed(connection, job, holder) unless holder == "" }
      end
    end

    # A failover is heeded as Sidekiq's client does it.
    def with_primary
      @redis_pool.with do |connection|
        tried_again = false
        begin
          yield connection
        rescue StandardError => error
          raise if tried_again || !error.message.match?(/READONLY|NOREPLICAS|UNBLOCKED/)
          tried_again = true
          SIDEKIQ >= 7 ? connection.close : connection.disconnect!
          retry
        end
      end
    end

    def push_one(connection, job)
      keys, arguments = words_of(job)
      return BroodUniqueJobs.script(connection, PUSH, keys, arguments + [job["on_conflict"].to_s]) if job[FIRST]
      BroodUniqueJobs.script(connection, PUSH_AGAIN, keys, arguments + [job[TAKES_OVER].to_s])
    end

    # The keys and arguments that all scripts have.
    def words_of(job)
      at = job["at"]
      text = job.reject { |name, _| ["at", FIRST, TAKES_OVER].include?(name) }
      at ? text.delete("enqueued_at") : text["enqueued_at"] = now
      [[BroodUniqueJobs.key(job["unique_lock"]), at ? "schedule" : "queue:#{job["queue"]}", "queues"],
       [job["jid"], BroodUniqueJobs.milliseconds_of(job), at ? at.to_s : "", Sidekiq.dump_json(text), job["queue"]]]
    end

    def now = SIDEKIQ >= 8 ? Process.clock_gettime(Process::CLOCK_REALTIME, :millisecond) : Time.now.to_f

    # Nothing was pushed: another job holds its lock.
    def heed(connection, job, holder)
      holder = replace(connection, job, holder) if job["on_conflict"] == "replace"
      return if holder == ""
      Sidekiq.logger.info { "#{job["class"]} is not pushed: job #{holder} holds its lock" }
      job.delete("jid")
    end

    # Returns who holds the lock at last, "" if the job was pushed.  A job that runs is never replaced.
    def replace(connection, job, holder)
      queues = [job["queue"], job["retry_queue"]].compact.uniq
      ATTEMPTS_TO_REPLACE.times do
        waiting = BroodUniqueJobs.waiting(connection, job["unique_lock"], queues, holder)
        if waiting && replaced?(connection, job, *waiting)
          Brood::Batch.note_replaced(Sidekiq.load_json(waiting.last)) if defined?(Brood::Batch)
          return ""
        end
        before = holder
        holder = push_one(connection, job)
        return holder if holder == "" || (!waiting && holder == before)
      end
      holder
    end

    def replaced?(connection, job, from, holder, text)
      keys, arguments = words_of(job)
      BroodUniqueJobs.script(connection, REPLACE, keys + [from], arguments + ["replace", holder, text]) == 1
    end
  end

  # Where Ruby's Sidekiq performs the job.  What fails keeps its lock here: it is tried again, or Sidekiq says below that
  # it is over.
  class Server
    include Sidekiq::ServerMiddleware if defined?(Sidekiq::ServerMiddleware)

    # The job that this thread performs.
    def self.running = Thread.current[:brood_unique_job]
    def self.running=(job)
      Thread.current[:brood_unique_job] = job
    end

    def call(_instance, job, _queue)
      BroodUniqueJobs.let_go(job) if job["unique_until"] == "start"
      outer = Server.running
      Server.running = job
      result = yield
      BroodUniqueJobs.let_go(job)
      result
    ensure
      Server.running = outer
    end
  end

  # Of an end by :discard, or by the last retry, 6 and 7 do not tell death handlers always.
  module Retries
    private

    def attempt_retry(_worker, job, ...) = (@brood_job = job) && super # 6
    def process_retry(_worker, job, ...) = (@brood_job = job) && super # from 7 on

    def delay_for(*)
      answer = super
      BroodUniqueJobs.let_go(@brood_job) if answer.is_a?(Array) && answer.first == :discard
      answer
    end

    def retries_exhausted(_worker, job, *)
      super
    ensure
      BroodUniqueJobs.let_go(job)
    end
  end

  # What is deleted through Sidekiq's API or pages.
  module Deletion
    def delete = super.tap { |deleted| BroodUniqueJobs.let_go(item) if [true, 1].include?(deleted) }
  end

  # What is taken out of the dead set: a job that is dead has let go of its lock, and stays while another has it.
  module Raising
    def retry = BroodUniqueJobs::Raising.stays?(self) ? nil : super
    def add_to_queue = BroodUniqueJobs::Raising.stays?(self) ? nil : super

    def self.stays?(entry)
      job = entry.item
      return false unless entry.parent.name == "dead" && BroodUniqueJobs.locked?(job) && job["on_conflict"] != "after"
      holder = BroodUniqueJobs.other_holder(job)
      Sidekiq.logger.warn { "#{job["class"]} #{job["jid"]} stays dead: job #{holder} holds its lock" } if holder
      !holder.nil?
    end
  end

  module Dead
    # Wherever it is killed: processes that only push have no death handlers.
    def kill(message, ...) = super.tap { BroodUniqueJobs::Dead.let_go(message) }

    # Until only those are left that stay.
    def retry_all
      loop do
        raised = 0
        each do |entry|
          next if Raising.stays?(entry)
          entry.retry
          raised += 1
        end
        break if raised.zero?
      end
    end

    def self.let_go(message)
      job = Sidekiq.load_json(message)
      BroodUniqueJobs.let_go(job) if job.is_a?(Hash)
    rescue JSON::ParserError
      nil # what is no JSON names no lock
    end
  end
end
