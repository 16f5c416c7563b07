# Batches of brood, from Ruby: Sidekiq 6.4 to 8.
#
#   require "/usr/share/brood/ruby/brood_batch"
#   Brood::Batch.install                        # in programs that push, and in Sidekiq's own processes
#
#   batch = Brood::Batch.new(description: "import 7")
#   batch.on(:success, "NotifyUser", 7)
#   batch.on(:death, "Alarm", 7, queue: "urgent")
#   batch.jobs { rows.each { |row| ImportRow.perform_async(row) } }
#   batch.bid
#
# Every job that this thread pushes in the block is in the batch: by perform_async, perform_in, perform_bulk,
# Sidekiq::Client or Active Job.  A script of Redis pushes it and counts it in one step, so that a process that is killed
# leaves no job that is counted and not pushed.  brood and Ruby may perform the jobs and the callbacks in any mix.
#
# brood counts the end of a job in the very step that ends it.  A Ruby Sidekiq counts it in a step of its own, before it
# acknowledges the job.  A Ruby process that is killed loses the jobs in its hands, unless Sidekiq Pro's super_fetch brings
# them back, and their batch does not end: `brood batches check` finds such jobs.
#
# This file needs no gem but Sidekiq.  It reads brood's own scripts from the folder `batches` beside it.
require "digest"
require "json"
require "securerandom"
require "sidekiq"
require "sidekiq/api"
require "sidekiq/job_retry"
require "socket"

module Brood
  class Batch
    SIDEKIQ = Sidekiq::VERSION.to_i
    EVENTS = %w[complete success death finished].freeze
    BID = /\A[A-Za-z0-9_-]{1,64}\z/
    LONGEST_DESCRIPTION = 1_000
    MOST_NESTED = 32
    MOST_COUNT_ATTEMPTS = 5
    DEATH_HANDLER = ->(job, _error) { Batch.bury(job) }

    # The batch takes no more jobs: it was cancelled, has ended, was deleted, or has expired.
    class Closed < StandardError; end

    # A Lua script that brood runs too, in the same bytes: so both call it by the same digest.
    class Script
      SOURCES = [File.join(__dir__, "batches"), File.expand_path("../../shared/store/batches", __dir__)].freeze
      FOLDER = SOURCES.find { |folder| Dir.exist?(folder) } || SOURCES.first
      INCLUDE = %r{^-- include: ([a-z_/]+\.lua)\n}.freeze

      attr_reader :name, :text, :digest

      def initialize(name)
        @name = name
        @text = with_pieces(read(File.join(FOLDER, "#{name}.lua"))).freeze
        @digest = Digest::SHA1.hexdigest(@text)
      end

      def run(connection, keys, arguments)
        evaluate(connection, "evalsha", digest, keys, arguments)
      rescue StandardError => error
        raise unless error.message.start_with?("NOSCRIPT")
        evaluate(connection, "eval", text, keys, arguments)
      end

      private

      def read(path) = File.read(path, encoding: "UTF-8")

      # A piece lies below the script's folder, or below the one above it.
      def with_pieces(text)
        text.gsub(INCLUDE) do
          name = Regexp.last_match(1)
          paths = [FOLDER, File.dirname(FOLDER)].map { |folder| File.join(folder, name) }
          with_pieces(read(paths.find { |path| File.exist?(path) } || paths.first))
        end
      end

      def evaluate(connection, command, script, keys, arguments)
        return connection.call(command, script, keys.size, *keys, *arguments) if SIDEKIQ >= 7
        connection.public_send(command, script, keys, arguments)
      end
    end

    OPEN, REOPEN, PUSH, CLOSE, CANCEL, END_IN_BATCH =
      %w[open_batch reopen_batch push_to_batch close_push cancel_batch end_in_batch].map { |name| Script.new(name) }

    class << self
      # Adds what pushes and what counts.  Without it a batch refuses to push.
      def install
        unless [:process_retry, :attempt_retry].any? { |name| Sidekiq::JobRetry.private_method_defined?(name) }
          raise "brood_batch.rb does not know Sidekiq #{Sidekiq::VERSION}"
        end
        Sidekiq::Job.attr_accessor(:bid) unless Sidekiq::Job.method_defined?(:bid=)
        { Sidekiq::Client => IntoBatch, Sidekiq::JobRetry => Retries, Sidekiq::DeadSet => Dead, Sidekiq::JobRecord => Deletion,
          Sidekiq::SortedEntry => Deletion }.each { |patched, patch| prepend_once(patched, patch) }
        Sidekiq.configure_client { |config| add_to(config) }
        Sidekiq.configure_server { |config| add_to(config) }
      end

      # In a job: its own batch, for more jobs; nil if it is in none.
      def current
        job = Running.here&.job
        new.tap { |batch| batch.send(:be_own, job["bid"]) } if job && index_of(job)
      end

      # -- For the modules below.

      # With Sidekiq's own testing modes no job reaches Redis, and none is counted.
      def testing? = defined?(Sidekiq::Testing) && Sidekiq::Testing.enabled?

      # Whether its push adds it to the batch whose block this thread is in.  A job that was pushed before, or belongs to another
      # batch, stays what it is.
      def takes?(job) = !Push.here.nil? && job["bid"].nil?

      # Its place in a batch of brood's; nil: it is in none, or in one of Sidekiq Pro's.
      def index_of(job)
        index = job["batch_index"]
        index if index.is_a?(Integer) && index >= 0 && job["bid"].is_a?(String) && job["bid"].match?(BID)
      end

      # The batch that the job reports about, if it is a callback.
      def batch_of_callback(job)
        bid = job["cbid"]
        bid if bid.is_a?(String) && bid.match?(BID) && job["jid"].is_a?(String)
      end

      def key(bid) = "brood:batch:#{bid}"

      # The job has succeeded, or was skipped.  Raises an error where Redis does not count it: then the job fails, and is
      # tried again.
      def finish(job) = count(job, "done")

      # The job waits for a retry.
      def note_failure(job) = try_to_count(job, "failed")

      # Another job of brood_unique_jobs.rb has taken its place: as if it was skipped.
      def note_replaced(job) = try_to_count(job, "done")

      # The job was moved to the dead set, discarded or deleted.
      def bury(job) = try_to_count(job, "dead #{dead_timeout}")

      # Calls the block with a connection of this pool, and heeds a failover as Sidekiq's client does.
      def with_primary(pool)
        pool.with do |connection|
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

      private

      # A process that only pushes may become one that performs: embedded, from Sidekiq 7 on.
      def add_to(config)
        config.client_middleware { |chain| chain.add(Client) }
        # The first one sees the end of all others, and whether Sidekiq has pushed an interrupted job again.
        config.server_middleware { |chain| chain.prepend(Server) }
        config.death_handlers << DEATH_HANDLER unless config.death_handlers.include?(DEATH_HANDLER)
      end

      def prepend_once(patched, patch)
        patched.prepend(patch) unless patched.ancestors.take_while { |one| one != patched }.include?(patch)
      end

      def count(job, verdict)
        index, batch = index_of(job), batch_of_callback(job)
        end_in_batch(key(job["bid"]), "job", index, verdict) if index
        end_in_batch(key(batch), "callback", job["jid"], verdict) if batch && verdict != "failed"
      end

      # Does the same once, however often it is sent.
      def end_in_batch(key, *arguments)
        attempts = 0
        begin
          Sidekiq.redis { |connection| END_IN_BATCH.run(connection, [key], arguments) }
        rescue StandardError
          raise if (attempts += 1) == MOST_COUNT_ATTEMPTS
          sleep(0.1 * 2**attempts)
          retry
        end
      end

      def try_to_count(job, verdict)
        count(job, verdict) if job.is_a?(Hash)
      rescue StandardError => error
        Sidekiq.logger.error do
          "#{job["class"]} #{job["jid"]} is not counted in its batch as #{verdict.split.first}: #{error.message}; see brood batches check"
        end
      end

      def dead_timeout
        options = if SIDEKIQ >= 7 then Sidekiq.default_configuration
                  else Sidekiq.respond_to?(:[]) ? Sidekiq : Sidekiq.options # 6.5, 6.4
                  end
        options[:dead_timeout_in_seconds].to_i
      end
    end

    # Known from the beginning.
    attr_reader :bid

    # Sends nothing yet.  `description` is for people.  `parent` is the bid of a batch that waits for this one: its
    # callbacks of :complete, :success and :finished wait until those of the same event of this one have run.
    def initialize(description: "", parent: nil)
      if description.to_s.bytesize > LONGEST_DESCRIPTION
        raise ArgumentError, "a batch's description has at most #{LONGEST_DESCRIPTION} bytes"
      end
      raise ArgumentError, "the batch's parent is not a bid: #{parent.inspect}" unless parent.nil? || parent.to_s.match?(BID)
      @bid = SecureRandom.urlsafe_base64(10).sub(/\A-/, "_")    # a command would take the hyphen for an option
      @description = description.to_s
      @parent = parent.to_s
      @callbacks = []
      @exists = @is_own = false
    end

    # Adds a callback: a job with these arguments, which is pushed once when the event happens.  If the class is known here,
    # its sidekiq_options hold, else the queue is "default"; keywords such as `queue` come before both.
    def on(event, job_class, *args, **options)
      raise ArgumentError, "a batch has no event #{event.inspect}, but #{EVENTS.join(", ")}" unless EVENTS.include?(event.to_s)
      raise "a batch gets its callbacks before its first jobs" if @exists
      number = @callbacks.count { |field, _value| field.start_with?("on:#{event}:") } + 1
      @callbacks << ["on:#{event}:#{number}", Callback.new(job_class, args, options).value(@bid, event.to_s)]
      self
    end

    # Jobs that are pushed in the block are in the batch.  No callback is pushed before the block has returned.  If it raises
    # an error, or is left by break, return or throw, the batch is cancelled, unless it is the current job's own.  May be
    # called again until the batch has ended.  Raises Closed.
    def jobs
      return tap { yield self } if Batch.testing?
      unless Sidekiq::Client.ancestors.include?(IntoBatch)
        raise "call Brood::Batch.install first, in an initializer: else these jobs would be in no batch"
      end
      push = Push.new(@bid)
      begin_push(push)
      begin
        push.during { yield self }
        has_returned = true
      ensure
        abandon(push) unless has_returned
      end
      require_ok(run(CLOSE, push.token, @is_own ? "0" : "1"))
      self
    end

    # Jobs that have not begun are skipped, and `finished` alone is fired.  Does nothing if the batch has ended, or nothing
    # was pushed.
    def cancel
      run(CANCEL) if @exists
      nil
    end

    def cancelled?
      [true, 1].include?(Batch.with_primary(pool) { |connection| connection.hexists(key, "cancelled") })
    end

    ANSWERS = {
      "NONE" => "does not exist in this Redis: it was deleted, or has expired",
      "CANCELLED" => "was cancelled",
      "ENDED" => "has ended",
      "EXISTS" => "exists already",
      "NO PARENT" => "has a parent that does not exist in this Redis: it was deleted, or has expired",
      "PARENT ENDED" => "has a parent that has ended",
      "PARENT CANCELLED" => "has a parent that was cancelled",
      "TOO DEEP" => "is nested too deep: at most #{MOST_NESTED} batches may be"
    }.freeze

    def self.require_ok(bid, answer)
      return if answer == "OK"
      raise Closed, "the batch #{bid} #{ANSWERS.fetch(answer) { "got the answer #{answer.inspect} of its script" }}"
    end

    private

    def key = Batch.key(@bid)
    def require_ok(answer) = Batch.require_ok(@bid, answer)

    # Where Sidekiq's client pushes in this thread.
    def pool = @pool ||= Sidekiq::Client.new.redis_pool

    def run(script, *arguments, keys: [])
      Batch.with_primary(pool) { |connection| script.run(connection, [key, *keys], arguments) }
    end

    # The batch of the current job, which holds it open until it ends.
    def be_own(bid)
      @bid = bid
      @exists = @is_own = true
    end

    def begin_push(push)
      return if @is_own
      return require_ok(run(REOPEN, push.token, push.pusher)) if @exists
      made_in, made_by = maker
      keys = ["brood:batches"]
      keys << Batch.key(@parent) unless @parent.empty?
      keys << Batch.key(made_in) if made_in && !@parent.empty?
      require_ok(run(OPEN, @bid, push.token, push.pusher, (Time.now.to_f * 1000).to_i, @description, @parent, MOST_NESTED,
                     made_by.to_s, *@callbacks.flatten, keys: keys))
      @exists = true
    end

    # The batch of the job that makes this one, and which of its jobs or callbacks that is.
    def maker
      job = Running.here&.job or return
      callback_of = Batch.batch_of_callback(job)
      callback_of ? [callback_of, job["jid"]] : [job["bid"], Batch.index_of(job)]
    end

    # The block has not returned.  What it raised says more than an error here.
    def abandon(push)
      return run(CLOSE, push.token, "0") if @is_own
      Sidekiq.logger.warn { "the batch #{@bid} is cancelled: its block was left before its end" }
      run(CANCEL)
    rescue StandardError => error
      Sidekiq.logger.error { "the batch #{@bid} is not cancelled: #{error.message}" }
    end

    # A job that its event pushes.
    class Callback
      def initialize(job_class, args, options)
        unless options.keys.all?(Symbol)
          raise ArgumentError, "an option of a callback is a keyword such as queue: \"x\"; put braces around a hash that is an argument"
        end
        @class = known_class(job_class) || job_class.to_s
        @options = options.transform_keys(&:to_s)
        @args = args
        raise ArgumentError, "a callback is pushed when its event happens, and has no time" if @options.key?("at")
      end

      # "<queue> <unit of times> <jid> <payload without its last brace>": the script adds when it was enqueued.
      def value(bid, event)
        job = prepare.merge("cbid" => bid, "batch_callback" => event)
        job.delete("enqueued_at")
        raise ArgumentError, "a callback's queue is a name without blanks: #{job["queue"].inspect}" unless job["queue"].match?(/\A\S+\z/)
        unit = job["created_at"].is_a?(Integer) ? "ms" : "s"
        "#{job["queue"]} #{unit} #{job["jid"]} #{Sidekiq.dump_json(job)[0...-1]}"
      end

      private

      def known_class(name)
        found = name.is_a?(Class) ? name : known?(name.to_s) && Object.const_get(name.to_s)
        if defined?(ActiveJob::Base) && found.is_a?(Class) && found <= ActiveJob::Base
          raise ArgumentError, "an Active Job is no callback: name a class that includes Sidekiq::Job, which may enqueue #{found}"
        end
        found if found.respond_to?(:get_sidekiq_options)
      end

      def known?(name)
        Object.const_defined?(name)
      rescue NameError # it may be a name of another language
        false
      end

      # As Sidekiq's client makes it, by its middleware.
      def prepare
        client = Sidekiq::Client.new
        item = client.normalize_item(@options.merge("class" => @class, "args" => @args))
        item.delete("pool")
        job = client.middleware.invoke(@class, item, item["queue"], client.redis_pool) { item }
        raise ArgumentError, "a client middleware stops the push of the callback #{@class}" unless job
        raise ArgumentError, "a callback of a batch is not unique: it runs once for its event" if job["unique_lock"]
        client.verify_json(job) if client.respond_to?(:verify_json)
        job
      end
    end

    # One call of Batch#jobs: what it pushes.
    class Push
      JOBS_OF_SLICE = 1_000
      BYTES_OF_SLICE = 1 << 20
      # Members that are not stored, or written anew.
      TRANSIENT = %w[at batch_index enqueued_at brood_first_push brood_takes_over].freeze

      # That of this thread; nil: there is none.
      def self.here = Thread.current[:brood_batch_push]

      attr_reader :token, :pusher

      def initialize(bid)
        @bid = bid
        @token = SecureRandom.urlsafe_base64(9)
        @pusher = "#{Socket.gethostname.tr(" ", "_")} #{Process.pid} #{Time.now.to_i}"
        @number = 0
      end

      # What this thread pushes meanwhile is pushed by this.  Sidekiq's transactional client asks sidekiq_batch whether to push
      # at once.
      def during
        names = defined?(Sidekiq::Batch) ? [:brood_batch_push] : [:brood_batch_push, :sidekiq_batch]
        before = names.map { |name| Thread.current[name] }
        names.each { |name| Thread.current[name] = self }
        yield
      ensure
        names.zip(before) { |name, value| Thread.current[name] = value }
      end

      def call(pool, jobs)
        jobs.each { |job| refuse_replace(job) }
        jobs.group_by { |job| job["at"] ? "schedule" : "queue:#{job["queue"]}" }.each do |destination, its_jobs|
          slices(its_jobs).each { |slice| push_slice(pool, destination, slice) }
        end
      end

      private

      # Pairs of a job and its text, as many as one script takes.
      def slices(jobs)
        bytes = 0
        count = 0
        jobs.map { |job| [job, text_of(job)] }.slice_when do |(_, text), _|
          bytes += text.bytesize
          count += 1
          is_full = count == JOBS_OF_SLICE || bytes > BYTES_OF_SLICE
          bytes = count = 0 if is_full
          is_full
        end
      end

      # Up to where the script writes the job's index.
      def text_of(job)
        stored = job.reject { |name, _| TRANSIENT.include?(name) }
        stored["enqueued_at"] = now unless job["at"]
        stored["bid"] = @bid
        "#{Sidekiq.dump_json(stored)[0...-1]},\"batch_index\":"
      end

      def now = SIDEKIQ >= 8 ? Process.clock_gettime(Process::CLOCK_REALTIME, :millisecond) : Time.now.to_f

      def push_slice(pool, destination, slice)
        locks = slice.map { |job, _| lock_of(job) }
        arguments = slice.zip(locks).flat_map do |(job, text), lock|
          [job["jid"], job["at"] ? job["at"].to_s : "", lock ? lock[:lives] : "", lock ? lock[:conflict] : "", text]
        end
        head = [@token, @number += 1, @pusher]
        keys = [Batch.key(@bid), destination, "queues", *locks.compact.map { |lock| lock[:key] }]
        answer, _next_index, *holders = Batch.with_primary(pool) { |connection| PUSH.run(connection, keys, head + arguments) }
        return if answer == "AGAIN" # its first reply was lost
        Batch.require_ok(@bid, answer)
        slice.zip(holders) { |(job, _), holder| heed(job, holder) unless holder == "" }
      end

      # The lock of a unique job of brood_unique_jobs.rb.  One that was pushed before is pushed whoever holds it.
      def lock_of(job)
        return unless defined?(BroodUniqueJobs) && BroodUniqueJobs.locked?(job)
        conflict = job[BroodUniqueJobs::FIRST] ? job["on_conflict"].to_s : "after"
        { key: BroodUniqueJobs.key(job["unique_lock"]), lives: BroodUniqueJobs.milliseconds_of(job), conflict: conflict }
      end

      def refuse_replace(job)
        return unless lock_of(job)&.fetch(:conflict) == "replace"
        raise ArgumentError, "a job of a batch cannot take the place of another: on_conflict is not replace"
      end

      # Another job holds its lock: it was not pushed, and is not in the batch.  Without a jid, Sidekiq's client returns nil.
      def heed(job, holder)
        Sidekiq.logger.info { "#{job["class"]} is not pushed: job #{holder} holds its lock" }
        job.delete("jid")
      end
    end

    # The job that this thread performs.
    class Running
      PLACE = %w[bid batch_index cbid].freeze

      def self.here = Thread.current[:brood_batch_job]
      def self.here=(running)
        Thread.current[:brood_batch_job] = running
      end

      attr_reader :job, :verdict

      def initialize(job)
        @job = job
        @verdict = "done"
      end

      # Active Job enqueues the job again while it runs, for `retry_on`: that one has its place in the batch.
      def give_place(pushed)
        return if pushed["bid"] || !Batch.index_of(@job) || !same_active_job?(pushed)
        pushed["bid"], pushed["batch_index"] = @job.values_at("bid", "batch_index")
      end

      # A job was pushed that may be this one: Sidekiq pushes an interrupted job again, and a middleware may put one off.  Such a
      # job has not ended.
      def heed(pushed)
        return unless pushed.values_at(*PLACE) == @job.values_at(*PLACE)
        @verdict = failures(pushed) == failures(@job) ? nil : "failed" if pushed["jid"] == @job["jid"] || same_active_job?(pushed)
      end

      private

      def same_active_job?(pushed)
        id = active_job(pushed)&.fetch("job_id", nil)
        id && id == active_job(@job)&.fetch("job_id", nil)
      end

      def failures(job) = active_job(job)&.fetch("exception_executions", nil)

      def active_job(job)
        wrapped = job["args"].first if job["wrapped"] && job["args"].is_a?(Array) && job["args"].size == 1
        wrapped if wrapped.is_a?(Hash)
      end
    end

    # Pushes jobs into the batch whose block this thread is in, after all middleware.
    module IntoBatch
      private

      def raw_push(payloads)
        ours, others = payloads.partition { |job| Batch.takes?(job) }
        Push.here.call(@redis_pool, ours) unless ours.empty?
        super(others) unless others.empty?
        true
      end
    end

    # Tells the job that this thread performs what it pushes.
    class Client
      include Sidekiq::ClientMiddleware if defined?(Sidekiq::ClientMiddleware)

      def call(_job_class, job, _queue, _pool)
        running = Running.here
        running&.give_place(job)
        pushed = yield
        running&.heed(job) if pushed
        pushed
      end
    end

    # Where Ruby's Sidekiq performs the job.  Failures are counted below, where Sidekiq decides what becomes of them.
    class Server
      include Sidekiq::ServerMiddleware if defined?(Sidekiq::ServerMiddleware)

      def call(instance, job, _queue)
        outer = Running.here
        Running.here = running = in_batch?(job) ? Running.new(job) : nil
        return yield unless running
        instance.bid = job["bid"] if instance.respond_to?(:bid=)
        return skip(job) if cancelled?(job)
        result = yield
        running.verdict == "done" ? Batch.finish(job) : running.verdict && Batch.note_failure(job)
        result
      ensure
        Running.here = outer
      end

      private

      def in_batch?(job) = !Batch.testing? && (Batch.index_of(job) || Batch.batch_of_callback(job))

      # Where Redis does not say so, the job runs: Sidekiq might lose it if it failed now.
      def cancelled?(job)
        Batch.index_of(job) && [true, 1].include?(Sidekiq.redis { |connection| connection.hexists(Batch.key(job["bid"]), "cancelled") })
      rescue StandardError
        false
      end

      def skip(job)
        Sidekiq.logger.info { "#{job["class"]} #{job["jid"]} is skipped: its batch was cancelled" }
        Batch.finish(job)
      end
    end

    # A failure that Sidekiq stores for a retry; and the end of a job by :discard or by its last retry, of which 6 and 7 do not
    # tell death handlers always.
    module Retries
      private

      def attempt_retry(_instance, job, ...) = note_failure(job) && super # 6.4
      def process_retry(_instance, job, ...) = note_failure(job) && super # later ones

      def note_failure(job)
        Batch.note_failure(job)
        @brood_batch_job = job
      end

      def delay_for(*)
        answer = super
        Batch.bury(@brood_batch_job) if answer.is_a?(Array) && answer.first == :discard
        answer
      end

      def retries_exhausted(_instance, job, *)
        super
      ensure
        Batch.bury(job)
      end
    end

    # Jobs that are deleted through Sidekiq's API or pages, one by one.
    module Deletion
      def delete = super.tap { |deleted| Batch.bury(item) if [true, 1].include?(deleted) }
    end

    # Jobs that are killed there: processes that only push, and kill_all, call no death handlers.
    module Dead
      def kill(message, ...) = super.tap { Dead.bury(message) }

      def self.bury(message)
        Batch.bury(Sidekiq.load_json(message))
      rescue JSON::ParserError
        nil # what is no JSON is in no batch
      end
    end
  end
end
