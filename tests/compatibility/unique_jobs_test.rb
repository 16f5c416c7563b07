# Unique jobs that Ruby's client pushes and brood performs: packaging/ruby/brood_unique_jobs.rb.
require_relative "support"
require_relative "ruby_jobs"
require_relative "../../packaging/ruby/brood_unique_jobs"
require "minitest/mock"
require "sidekiq/scheduled"
require "time"

BroodUniqueJobs.enable

class Inline
  include JOB
  sidekiq_options unique_until: "done", queue: "elsewhere"

  class << self
    attr_accessor :performed
  end
  def perform(list) = self.class.performed = list
end

class UniqueJobsTest < CompatibilityTest
  start workers: 1, queues: ["default"]

  def push(job_class, args, more = {}) = Sidekiq::Client.push({ "class" => job_class, "args" => args }.merge(more))
  def locks = redis.command("KEYS", "brood:unique:*")
  def waiting(queue) = Sidekiq::Queue.new(queue)

  def setup
    redis.command("DEL", "queue:elsewhere", "schedule", "retry", "dead", *locks)
    FileUtils.rm_f(Ledger.new(redis).path)
  end

  def test_of_equal_jobs_one_is_pushed_with_its_lock
    jid = push("Any", [1], "queue" => "elsewhere", "unique_for" => 60)
    assert jid
    assert_nil push("Any", [1], "queue" => "elsewhere", "unique_for" => 60)
    assert push("Any", [2], "queue" => "elsewhere", "unique_for" => 60)
    assert push("Any", [1], "queue" => "elsewhere", "unique_for" => false)
    assert_equal 3, waiting("elsewhere").size
    job = waiting("elsewhere").find_job(jid)
    key = "brood:unique:#{job["unique_lock"]}"
    assert_equal jid, redis.command("GET", key)
    assert_includes 30_000..60_000, redis.command("PTTL", key)
    assert job["enqueued_at"]
    assert_equal "done", job["unique_until"]
  end

  def test_a_scheduled_job_holds_its_lock_until_it_is_due_and_on
    jid = push("Any", [1], "queue" => "elsewhere", "unique_for" => 60, "at" => Time.now.to_f + 1000)
    assert_equal jid, Sidekiq::ScheduledSet.new.first.jid
    assert_nil Sidekiq::ScheduledSet.new.first["enqueued_at"]
    assert_nil push("Any", [1], "queue" => "elsewhere", "unique_for" => 60)
    assert_includes 1_030_000..1_061_000, redis.command("PTTL", locks.first)
  end

  def test_both_clients_mean_the_same_lock
    assert push("Any", ["a", 1, { "b" => nil }], "queue" => "elsewhere", "unique_until" => "done")
    assert_nil push("Any", ["a", 1, { "b" => nil }], "queue" => "elsewhere", "unique_until" => "done")
    brood_job = JSON.generate("class" => "Any", "args" => ["a", 1, { "b" => nil }], "queue" => "elsewhere", "unique_until" => "done")
    file = File.join(redis.directory, "jobs")
    File.write(file, "#{brood_job}\n")
    only_brood
    brood(redis, "enqueue", "--bulk", file, may_end: [0, 75])
    assert_equal 1, waiting("elsewhere").size
  end

  def test_what_a_job_is_unique_by_is_no_markup_and_means_the_same_lock_to_both_clients
    more = { "queue" => "elsewhere", "unique_until" => "done", "unique_by" => ["<b>", "\u00e9", 1.50] }
    jid = push("Any", ["<b>"], more)
    assert_equal ["\u2039b\u203a", "\u00e9", 1.5], waiting("elsewhere").find_job(jid)["unique_by"]
    assert_nil push("Any", [2], more)
    file = File.join(redis.directory, "jobs")
    File.write(file, %({"class":"Any","args":[3],"queue":"elsewhere","unique_until":"done","unique_by":["\\u003cb>", "\\u00e9", 1.50]}\n))
    only_brood
    brood(redis, "enqueue", "--bulk", file, may_end: [0, 75])
    assert_equal 1, waiting("elsewhere").size
  end

  # Redis rolls nothing back, so missing rights are found before anything is pushed.
  def test_who_may_not_write_locks_pushes_nothing
    scripts = { BroodUniqueJobs::PUSH => [%w[brood:unique:a queue:elsewhere queues], ["a", "60", "", "new", "elsewhere", ""]],
                BroodUniqueJobs::REPLACE => [%w[brood:unique:a queue:other queues queue:elsewhere],
                                             ["a", "60", "", "new", "other", "", "held", "old"]] }
    redis.command("LPUSH", "queue:elsewhere", "old")
    %w[set lrem sadd lpush].each do |refused|
      redis.command("ACL", "SETUSER", "limited", "reset", "on", "nopass", "~*", "+@all", "-#{refused}")
      scripts.each do |text, (keys, arguments)|
        replaces = text == BroodUniqueJobs::REPLACE
        replaces ? redis.command("SET", "brood:unique:a", "held") : redis.command("DEL", "brood:unique:a")
        next if refused == "lrem" && !replaces
        redis.command("AUTH", "limited", "any")
        assert_raises(StandardError, refused) { redis.command("EVAL", text, keys.size.to_s, *keys, *arguments) }
        redis.command("AUTH", "default", "any")
        assert_equal [["old"], []], %w[queue:elsewhere queue:other].map { |queue| redis.command("LRANGE", queue, "0", "-1") }, refused
      end
    end
  ensure
    redis.command("AUTH", "default", "any")
    redis.command("DEL", "queue:other", "brood:unique:a")
  end

  def test_a_job_that_waits_is_replaced
    more = { "queue" => "elsewhere", "unique_until" => "done", "unique_by" => [7], "on_conflict" => "replace" }
    push("Any", [1], more)
    push("Any", [0], "queue" => "elsewhere")
    second = push("Any", [2], more)
    assert_equal [[0], [2]], waiting("elsewhere").map(&:args)
    assert_equal [second], locks.map { |key| redis.command("GET", key) }
    third = push("Any", [3], more.merge("at" => Time.now.to_f + 1000))
    assert_equal [[0]], waiting("elsewhere").map(&:args)
    assert_equal [[3]], Sidekiq::ScheduledSet.new.map(&:args)
    assert_equal [third], locks.map { |key| redis.command("GET", key) }
    redis.command("DEL", "schedule") # as if it ran: it waits nowhere
    assert_nil push("Any", [4], more)
  end

  # As brood's workers lay it aside (for a place of a cap, in quarantine or for its paused class), and as a retry.
  def test_a_job_is_replaced_wherever_it_waits
    more = { "queue" => "elsewhere", "retry_queue" => "again", "unique_until" => "done", "unique_by" => [7], "on_conflict" => "replace" }
    redis.command("SADD", "brood:set_aside", "elsewhere@heavy", "again@heavy")
    %w[queue:elsewhere@heavy queue:again queue:again@heavy brood:quarantined].each do |place|
      push("Any", [1], more)
      first = redis.command("LPOP", "queue:elsewhere")
      place.start_with?("queue:") ? redis.command("LPUSH", place, first, "another") : redis.command("ZADD", place, "5", first)
      second = push("Any", [2], more)
      assert_equal [second], locks.map { |key| redis.command("GET", key) }, place
      stays = place == "queue:elsewhere@heavy"
      assert_equal [[2]], waiting("elsewhere").map(&:args), place unless stays
      next assert_equal 0, redis.command("ZCARD", place) unless place.start_with?("queue:")
      left = redis.command("LRANGE", place, "0", "-1")
      assert_equal stays ? 2 : 1, left.size, place
      assert_equal [2], Sidekiq.load_json(left.last)["args"] if stays
    ensure
      redis.command("DEL", place, "queue:elsewhere", *locks)
    end
  ensure
    redis.command("DEL", "brood:set_aside")
  end

  def test_a_refused_push_may_extend_the_lock
    more = { "queue" => "elsewhere", "unique_for" => 60, "on_conflict" => "extend" }
    push("Any", [1], more)
    redis.command("PEXPIRE", locks.first, "20000")
    assert_nil push("Any", [1], more)
    assert_includes 30_000..60_000, redis.command("PTTL", locks.first)
  end

  def test_a_job_that_is_pushed_to_run_after_another_waits_for_its_lock
    only_brood
    ledger = Ledger.new(redis)
    job = { "class" => "Ledger", "args" => [ledger.path, "1", 1], "unique_until" => "done", "on_conflict" => "after" }
    lock = BroodUniqueJobs.key(BroodUniqueJobs.lock_of(job, "default"))
    another = push("Any", [1], "queue" => "elsewhere", "unique_until" => "done") # an existing job keeps its locks
    redis.command("SET", lock, another)
    assert Sidekiq::Client.push(job)
    eventually("it waits") { Sidekiq::ScheduledSet.new.size == 1 }
    assert_empty ledger.begun
    assert_equal another, redis.command("GET", lock)
    redis.command("DEL", lock)
    eventually("it is done") { ledger.done.size == 1 && redis.command("GET", lock).nil? }
  end

  def test_brood_lets_go_when_the_job_is_done
    only_brood
    ledger = Ledger.new(redis)
    2.times do |before|
      assert push("Ledger", [ledger.path, "0", 1], "unique_until" => "done")
      eventually("it lets go") { ledger.done.size == before + 1 && locks.empty? }
    end
  end

  def test_what_sidekiqs_pages_clear_is_checked
    only_brood
    push("Any", [1], "queue" => "elsewhere", "unique_until" => "done")
    waiting("elsewhere").clear
    assert_equal 1, locks.size
    assert_equal 1, JSON.parse(brood(redis, "locks", "check", "--json")).size
    assert_empty locks
  end

  # In Ruby's Sidekiq the performing process releases the lock.
  def test_the_middleware_of_a_ruby_process_lets_go
    jid = push("Any", [1], "queue" => "elsewhere", "unique_until" => "done")
    job = waiting("elsewhere").first.item
    assert_raises(RuntimeError) { BroodUniqueJobs::Server.new.call(nil, job, "elsewhere") { raise "it is tried again" } }
    assert_equal [jid], locks.map { |key| redis.command("GET", key) }
    assert_equal :done, BroodUniqueJobs::Server.new.call(nil, job, "elsewhere") { :done }
    assert_empty locks
  end

  def test_its_queue_is_known_and_a_key_that_is_no_queue_is_refused
    redis.command("SREM", "queues", "elsewhere")
    push("Any", [1], "queue" => "elsewhere", "unique_until" => "done")
    assert_includes redis.command("SMEMBERS", "queues"), "elsewhere"
    redis.command("SET", "queue:no_list", "text")
    refused = assert_raises(StandardError) { push("Any", [1], "queue" => "no_list", "unique_until" => "done") }
    assert_match(/WRONGTYPE queue:no_list/, refused.message)
    assert_equal 1, locks.size
  ensure
    redis.command("DEL", "queue:no_list")
  end

  def test_an_extension_shortens_no_lock
    more = { "queue" => "elsewhere", "unique_for" => 60, "on_conflict" => "extend" }
    push("Any", [1], more)
    redis.command("PEXPIRE", locks.first, "900000")
    push("Any", [1], more)
    assert_operator redis.command("PTTL", locks.first), :>, 800_000
    redis.command("PERSIST", locks.first)
    push("Any", [1], more)
    assert_equal(-1, redis.command("PTTL", locks.first))
  end

  def test_the_middleware_lets_go_at_the_start_and_of_its_own_lock_alone
    push("Any", [1], "queue" => "elsewhere", "unique_until" => "start")
    job = waiting("elsewhere").first.item
    BroodUniqueJobs::Server.new.call(nil, job, "elsewhere") { assert_empty locks }

    redis.command("SET", BroodUniqueJobs.key(job["unique_lock"]), "another")
    BroodUniqueJobs::Server.new.call(nil, job, "elsewhere") {}
    assert_equal ["another"], locks.map { |key| redis.command("GET", key) }
  end

  # The job succeeded: a Redis that fails afterwards does not change that.
  def test_a_lock_that_cannot_be_let_go_fails_no_job
    push("Any", [1], "queue" => "elsewhere", "unique_until" => "done")
    job = waiting("elsewhere").first.item
    redis.command("DEL", *locks)
    redis.command("RPUSH", BroodUniqueJobs.key(job["unique_lock"]), "of another type")
    assert_equal :done, BroodUniqueJobs::Server.new.call(nil, job, "elsewhere") { :done }
  end

  # -- What was pushed before is never lost.

  UNIQUE = { "queue" => "elsewhere", "unique_until" => "done" }.freeze

  # Pushes a job, and moves it to that set as a failure would, with or without its lock.  It is due in an hour, so that
  # brood's own scheduler leaves it there.
  def put_aside(set, args = [1], more = {}, keep_lock: false)
    jid = push("Any", args, UNIQUE.merge(more))
    job = waiting("elsewhere").find_job(jid)
    redis.command("LREM", "queue:elsewhere", "1", job.value)
    redis.command("ZADD", set, (Time.now.to_f + 3600).to_s, job.value)
    redis.command("DEL", BroodUniqueJobs.key(job["unique_lock"])) unless keep_lock
    jid
  end

  # In two hours.
  def run_scheduler
    scheduler = SIDEKIQ < 7 ? Sidekiq::Scheduled::Enq.new : Sidekiq::Scheduled::Enq.new(Sidekiq.default_configuration)
    Time.stub(:now, Time.now + 7200) { scheduler.enqueue_jobs }
  end

  def jids(set) = redis.command("ZRANGE", set, "0", "-1").map { |text| JSON.parse(text)["jid"] }
  def waiting_jids = waiting("elsewhere").map(&:jid)

  def test_a_dead_job_stays_dead_while_an_equal_one_waits
    [:retry, :add_to_queue].each do |button|
      setup
      dead = put_aside("dead")
      other = push("Any", [1], UNIQUE)
      Sidekiq::DeadSet.new.find_job(dead).public_send(button)
      assert_equal [[dead], [other]], [jids("dead"), waiting_jids]

      waiting("elsewhere").find_job(other).delete
      Sidekiq::DeadSet.new.find_job(dead).public_send(button)
      assert_equal [[], [dead]], [jids("dead"), waiting_jids]
      assert_equal [dead], locks.map { |key| redis.command("GET", key) }
      assert_nil push("Any", [1], UNIQUE)
    end
  end

  def test_a_dead_job_that_may_wait_for_its_lock_is_raised
    dead = put_aside("dead", [1], { "on_conflict" => "after" })
    other = push("Any", [1], UNIQUE)
    Sidekiq::DeadSet.new.find_job(dead).retry
    assert_equal [[], [other, dead].sort], [jids("dead"), waiting_jids.sort]
    assert_equal [other], locks.map { |key| redis.command("GET", key) }
  end

  def test_of_all_dead_jobs_those_are_raised_that_hold_their_locks_then
    held = put_aside("dead", [0])
    other = push("Any", [0], UNIQUE)
    raised = (1..120).map { |number| put_aside("dead", [number]) }
    twins = [put_aside("dead", ["twin"]), put_aside("dead", ["twin"])]
    Sidekiq::DeadSet.new.retry_all
    assert_equal [other, *raised].sort, (waiting_jids - twins).sort
    assert_includes jids("dead"), held
    assert_equal twins.sort, (waiting_jids & twins).union(jids("dead") - [held]).sort
    assert_equal 1, (waiting_jids & twins).size
  end

  # Each way of Ruby from a set to a queue, while another job has the lock.
  def test_what_was_pushed_before_is_pushed_whoever_holds_its_lock
    ways = { "retry" => { "the scheduler" => -> { run_scheduler }, "Retry Now" => -> { Sidekiq::RetrySet.new.first.retry },
                          "Add to Queue" => -> { Sidekiq::RetrySet.new.first.add_to_queue }, "Retry All" => -> { Sidekiq::RetrySet.new.retry_all } },
             "schedule" => { "the scheduler" => -> { run_scheduler }, "Add to Queue" => -> { Sidekiq::ScheduledSet.new.first.add_to_queue } },
             "none" => { "an interruption" => -> { Sidekiq::Client.push(@job) },
                         "a bulk" => -> { Sidekiq::Client.push_bulk(@job.merge("args" => [[1]]).reject { |name, _| name == "jid" }) } } }
    ways.each do |set, buttons|
      buttons.each do |name, button|
        setup
        mine = put_aside(set)
        @job = JSON.parse(redis.command("ZRANGE", set, "0", "-1").first)
        redis.command("DEL", "none")
        other = push("Any", [1], UNIQUE)
        button.call
        assert_equal [[], 2, other], [jids(set), waiting("elsewhere").size, redis.command("GET", locks.first)], "#{name} of #{set}"
        assert_includes waiting_jids, mine, "#{name} of #{set}" unless name == "a bulk"
      end
    end
  end

  def test_what_is_pushed_again_keeps_its_lock_as_it_is_and_takes_it_where_it_is_free
    mine = put_aside("retry", [1], { "unique_for" => 60 }, keep_lock: true)
    redis.command("PEXPIRE", locks.first, "20000")
    run_scheduler
    assert_equal [[mine], mine], [waiting_jids, redis.command("GET", locks.first)]
    assert_operator redis.command("PTTL", locks.first), :<=, 20_000

    setup
    mine = put_aside("retry", [1], { "unique_for" => 60 })
    run_scheduler
    assert_equal [[mine], mine], [waiting_jids, redis.command("GET", locks.first)]
    assert_includes 30_000..60_000, redis.command("PTTL", locks.first)
  end

  def test_nothing_that_is_wrong_with_its_lock_loses_what_is_pushed_again
    mine = put_aside("retry")
    lock = BroodUniqueJobs.key(Sidekiq::RetrySet.new.first["unique_lock"])
    redis.command("RPUSH", lock, "of another type")
    run_scheduler
    assert_equal [mine], waiting_jids

    setup
    redis.command("DEL", lock)
    mine = push("Any", [1], UNIQUE)
    job = waiting("elsewhere").first.item.merge("unique_for" => "a slip", "on_conflict" => "a slip")
    redis.command("DEL", "queue:elsewhere")
    Sidekiq::Client.push(job)
    assert_equal [mine], waiting_jids
  end

  def test_perform_inline_performs_at_once_whoever_holds_the_lock
    String.define_method(:constantize) { Object.const_get(self) } if SIDEKIQ < 7 # it asks ActiveSupport
    jid = Inline.perform_async([1])
    assert_equal true, Inline.set({}).perform_inline([1])
    assert_equal [1], Inline.performed
    assert_equal [jid], locks.map { |key| redis.command("GET", key) }
  end

  # -- The answer of each push is heeded.

  def test_of_a_bulk_of_equal_jobs_one_is_pushed_and_the_others_have_no_jid
    answers = Sidekiq::Client.push_bulk({ "class" => "Any", "args" => [[1], [1], [2], [1]] }.merge(UNIQUE))
    assert_equal [2, 2], [answers.compact.size, waiting("elsewhere").size]
    assert_equal waiting_jids.sort, answers.compact.sort
    assert_equal SIDEKIQ < 7 ? 2 : 4, answers.size
  end

  # Middleware runs before the push: another client may be faster in between.
  def test_a_push_that_comes_second_by_a_hair_returns_nil
    late = Class.new { def call(_class, job, *) = (BroodUniqueJobs.key(job["unique_lock"]).then { |key| Sidekiq.redis { |connection| connection.set(key, "faster") } }) && yield }
    push_late = SIDEKIQ < 7 ? Sidekiq::Client.new : Sidekiq::Client.new(chain: Sidekiq.default_configuration.client_middleware.dup)
    push_late.middleware { |chain| chain.add late }
    assert_nil push_late.push({ "class" => "Any", "args" => [1] }.merge(UNIQUE))
    assert_equal 0, waiting("elsewhere").size
  ensure
    Sidekiq.configure_client { |config| config.client_middleware { |chain| chain.remove(late) } }
  end

  def test_a_push_asks_the_redis_that_it_goes_to
    pool = ConnectionPool.new(size: 1) { SIDEKIQ < 7 ? Redis.new(url: redis.url, db: 1) : Sidekiq::RedisClientAdapter.new(url: redis.url, db: 1).new_client }
    client = SIDEKIQ < 7 ? Sidekiq::Client.new(pool) : Sidekiq::Client.new(pool: pool)
    push("Any", [1], UNIQUE)
    jid = client.push({ "class" => "Any", "args" => [1] }.merge(UNIQUE))
    assert jid
    assert_nil client.push({ "class" => "Any", "args" => [1] }.merge(UNIQUE))
    newest = client.push({ "class" => "Any", "args" => [1], "on_conflict" => "replace" }.merge(UNIQUE))
    assert newest
    redis.command("SELECT", "1")
    assert_equal [newest], redis.command("LRANGE", "queue:elsewhere", "0", "-1").map { |text| JSON.parse(text)["jid"] }
    redis.command("FLUSHDB")
  ensure
    redis.command("SELECT", "0")
  end

  def test_no_member_of_the_push_alone_is_stored
    push("Any", [1], UNIQUE)
    assert_equal %w[args class created_at enqueued_at jid queue retry unique_lock unique_until], waiting("elsewhere").first.item.keys.sort
  end

  # -- What ends a job lets go of its lock.

  def test_what_is_deleted_or_killed_through_the_api_lets_go
    push("Any", [1], UNIQUE)
    waiting("elsewhere").first.delete
    assert_empty locks
    put_aside("retry", keep_lock: true)
    assert_equal 1, locks.size
    Sidekiq::RetrySet.new.first.delete
    assert_empty locks
    put_aside("retry", keep_lock: true)
    Sidekiq::RetrySet.new.first.kill
    assert_empty locks
    put_aside("retry", [2], keep_lock: true)
    Sidekiq::RetrySet.new.kill_all
    assert_equal [[], 2], [locks, jids("dead").size]
    put_aside("retry", [3], keep_lock: true)
    entry = Sidekiq::RetrySet.new.first
    redis.command("DEL", "retry") # it moved on meanwhile
    entry.delete
    assert_equal 1, locks.size
  end

  def ruby_sidekiq
    @@ruby ||= RubySidekiq.new(redis, ["-q", "ruby"], jobs: File.join(__dir__, "unique_ruby_jobs.rb")).tap { |ruby| Minitest.after_run { ruby.stop } }
  end

  def test_a_ruby_process_lets_go_with_every_end_of_a_job
    ruby_sidekiq
    ends = { ["well", true] => nil, ["fail", false] => nil, ["fail", 0] => "dead", ["fail", true] => "retry", ["discard at last", 0] => SIDEKIQ < 7 ? "dead" : nil,
             ["discard", true] => SIDEKIQ < 7 ? "retry" : nil }
    ends.each do |(how, tries), set|
      setup
      jid = push("Ending", [how], "queue" => "ruby", "unique_until" => "done", "retry" => tries)
      eventually("#{how} #{tries} is in #{set.inspect}", 60) do
        set ? jids(set) == [jid] : Sidekiq::Queue.new("ruby").size.zero? && locks.empty?
      end
      eventually("the lock of #{how} #{tries}") { locks.empty? == (set != "retry") }
    end
  end

  def active(job_class, arguments, more = {})
    push("Wrapper", [{ "job_class" => job_class, "job_id" => SecureRandom.uuid, "arguments" => arguments, "executions" => 0,
                       "enqueued_at" => Time.now.iso8601(9) }], { "wrapped" => job_class, "queue" => "elsewhere", "unique_until" => "done" }.merge(more))
  end

  def test_an_active_job_is_unique_by_its_own_class_and_arguments
    assert active("Report", [1])
    assert_nil active("Report", [1])
    assert active("Report", [2])
    assert active("Other", [1])
    assert_equal 3, waiting("elsewhere").size
  end

  def test_both_clients_know_an_active_job_by_the_same_lock
    only_brood
    active("Report", ["a", { "_aj_globalid" => "gid://app/User/1" }, 1.50])
    text = JSON.generate("class" => "Sidekiq::ActiveJob::Wrapper", "wrapped" => "Report", "queue" => "elsewhere", "unique_until" => "done",
                         "args" => [{ "job_class" => "Report", "job_id" => "of brood", "arguments" => ["a", { "_aj_globalid" => "gid://app/User/1" }, 1.5] }])
    file = File.join(redis.directory, "jobs")
    File.write(file, "#{text}\n")
    brood(redis, "enqueue", "--bulk", file, may_end: [0, 75])
    assert_equal 1, waiting("elsewhere").size
  end

  def test_an_active_job_that_is_enqueued_again_while_it_runs_is_pushed_with_its_lock
    ruby_sidekiq
    redis.command("DEL", "again")
    first = active("Report", ["once more"], "queue" => "ruby")
    again, holder = eventually("it runs again", 60) { redis.command("GET", "again") }.split
    refute_equal first, again
    assert_equal again, holder
    eventually("it lets go") { locks.empty? }
  end

  # -- What unique_for may be.

  def test_a_number_in_quotes_is_a_number_of_seconds
    push("Any", [1], "queue" => "elsewhere", "unique_for" => "30.5")
    assert_includes 15_000..30_500, redis.command("PTTL", locks.first)
    assert_equal 30.5, waiting("elsewhere").first["unique_for"]
    assert push("Any", [2], "queue" => "elsewhere", "unique_for" => "0")
    assert_equal 1, locks.size
    ["5m", "abc", "", " 5", "0x10", "-1", -1, true, [], "1e10", Float::NAN].each do |slip|
      refused = assert_raises(ArgumentError, slip.inspect) { push("Any", [3], "queue" => "elsewhere", "unique_for" => slip) }
      assert_includes refused.message, "unique_for is no number of seconds"
    end
    assert_equal 2, waiting("elsewhere").size
  end

  def test_sidekiqs_testing_modes_need_no_redis
    program = <<~RUBY
      require "sidekiq"
      require "sidekiq/testing"
      require #{File.expand_path("../../packaging/ruby/brood_unique_jobs", __dir__).inspect}
      BroodUniqueJobs.enable
      Sidekiq.logger.level = Logger::ERROR
      class Any
        include(defined?(Sidekiq::Job) ? Sidekiq::Job : Sidekiq::Worker)
        sidekiq_options unique_for: 60
        def perform(number) = puts(number)
      end
      2.times { Any.perform_async(1) or abort "it was refused" }
      Sidekiq::Testing.inline! { Any.perform_async(3) }
      Any.drain
    RUBY
    output, errors, status = Open3.capture3({ "REDIS_URL" => "unix:///nowhere" }, RbConfig.ruby, "-e", program)
    assert status.success?, errors
    assert_equal "3\n1\n1\n", output
  end
end
