# Unique jobs that Ruby's client pushes and brood performs: packaging/ruby/brood_unique_jobs.rb.
require_relative "support"
require_relative "../../packaging/ruby/brood_unique_jobs"

BroodUniqueJobs.enable

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
    brood(redis, "enqueue", "--bulk", file)
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
    brood(redis, "enqueue", "--bulk", file)
    assert_equal 1, waiting("elsewhere").size
  end

  # Redis rolls nothing back: what a user may not do is found out before anything is pushed.
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
    Sidekiq::ScheduledSet.new.first.delete # as if it ran: nobody finds it waiting
    assert_nil push("Any", [4], more)
  end

  # As brood's workers lay it aside: for a place of a cap, in quarantine or for its paused class; and where it is retried.
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
    another = push("Any", [1], "queue" => "elsewhere", "unique_until" => "done") # one that is there: its locks are not let go
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

  def test_what_sidekiqs_pages_delete_is_checked
    only_brood
    push("Any", [1], "queue" => "elsewhere", "unique_until" => "done")
    waiting("elsewhere").first.delete
    assert_equal 1, locks.size
    assert_equal 1, JSON.parse(brood(redis, "locks", "check", "--json")).size
    assert_empty locks
  end

  # Where Ruby's Sidekiq performs it, whoever performs it lets go.
  def test_the_middleware_of_a_ruby_process_lets_go
    jid = push("Any", [1], "queue" => "elsewhere", "unique_until" => "done")
    job = waiting("elsewhere").first.item
    assert_raises(RuntimeError) { BroodUniqueJobs::Server.new.call(nil, job, "elsewhere") { raise "it is tried again" } }
    assert_equal [jid], locks.map { |key| redis.command("GET", key) }
    BroodUniqueJobs::Server.new.call(nil, job, "elsewhere") {}
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

  def test_the_middleware_lets_go_at_the_start_or_when_no_retry_comes_and_of_its_own_lock_alone
    push("Any", [1], "queue" => "elsewhere", "unique_until" => "start")
    job = waiting("elsewhere").first.item
    BroodUniqueJobs::Server.new.call(nil, job, "elsewhere") { assert_empty locks }

    push("Any", [2], "queue" => "elsewhere", "unique_until" => "done", "retry" => false)
    job = waiting("elsewhere").first.item
    assert_equal 1, locks.size
    assert_raises(RuntimeError) { BroodUniqueJobs::Server.new.call(nil, job, "elsewhere") { raise "it is not tried again" } }
    assert_empty locks

    redis.command("SET", BroodUniqueJobs.key(job["unique_lock"]), "another")
    BroodUniqueJobs::Server.new.call(nil, job, "elsewhere") {}
    assert_equal ["another"], locks.map { |key| redis.command("GET", key) }
  end
end
