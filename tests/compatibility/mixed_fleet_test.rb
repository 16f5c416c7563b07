# Ruby's Sidekiq and brood work on the same queues of the same Redis, fed by both clients: nothing is lost, nothing runs
# twice, failures pass from one to the other, and Sidekiq's tools show one fleet.  Half way brood is rolled and one of its
# workers killed, and Ruby's process is stopped and started again.
require_relative "support"
require_relative "browser"
require "set"
require "tempfile"

class MixedFleetTest < CompatibilityTest
  JOBS = Integer(ENV.fetch("BROOD_MIXED_JOBS", "50000"))
  DYING = JOBS / 100       # fail once and have no retry left
  RETRIED = JOBS / 500     # fail, are retried by either program, fail again and die
  SCHEDULED = JOBS / 20    # of the jobs, a few seconds ahead
  HELD_BACK = JOBS / 50    # of the jobs, for the Ruby process that comes last
  QUEUES = %w[critical default low].freeze

  start workers: 2, queues: QUEUES.map.with_index { |queue, i| "#{queue},#{3 - i}" }

  def ledger = @ledger ||= Ledger.new(redis)
  def queue_of(number) = QUEUES[number % QUEUES.size]
  def stats = Sidekiq::Stats.new
  def dead_jids = Sidekiq::DeadSet.new.map(&:jid).to_set

  def start_ruby
    ruby = RubySidekiq.new(redis, QUEUES.flat_map.with_index { |queue, i| ["-q", "#{queue},#{3 - i}"] })
    (@ruby_pids ||= []) << ruby.pid
    Minitest.after_run { ruby.stop }
    eventually("Ruby's heartbeat") { Sidekiq::ProcessSet.new.any? { |process| process["pid"] == ruby.pid } }
    eventually("it waits for jobs, or has one") { redis.command("CLIENT", "LIST").include?("cmd=brpop") }
    ruby
  end

  # A third by Ruby's client one by one and in bulk, the rest by brood's; some of both a little ahead.
  def push_jobs
    by_ruby, by_brood = (0...JOBS - HELD_BACK).partition { |number| number % 3 == 0 }
    by_brood_later, by_brood = by_brood.partition { |number| number % (JOBS / SCHEDULED) == 1 }
    Tempfile.create("jobs") do |file|
      by_brood.each { |n| file.puts JSON.generate("class" => "Ledger", "args" => [ledger.path, n.to_s], "queue" => queue_of(n)) }
      by_brood_later.each do |n|
        file.puts JSON.generate("class" => "Ledger", "args" => [ledger.path, n.to_s], "queue" => queue_of(n), "at" => Time.now.to_f + 1 + n % 7)
      end
      file.flush
      brood(redis, "enqueue", "--bulk", file.path)
    end
    by_ruby.group_by { |n| queue_of(n) }.each do |queue, numbers|
      single, bulk = numbers.partition { |n| n % 10 == 0 }
      Sidekiq::Client.push_bulk("class" => "Ledger", "queue" => queue, "args" => bulk.map { |n| [ledger.path, n.to_s] })
      single.each { |n| Sidekiq::Client.push("class" => "Ledger", "queue" => queue, "args" => [ledger.path, n.to_s]) }
    end
  end

  # Each process that waits for a job gets one, however fast the others are.
  def push_the_rest
    (JOBS - HELD_BACK...JOBS).group_by { |n| queue_of(n) }.each do |queue, numbers|
      Sidekiq::Client.push_bulk("class" => "Ledger", "queue" => queue, "args" => numbers.map { |n| [ledger.path, n.to_s] })
    end
  end

  def push_failures
    @dying = Sidekiq::Client.push_bulk("class" => "Fail", "queue" => "default", "retry" => 0, "args" => Array.new(DYING) { |n| ["dies #{n}"] })
    @retried = Array.new(RETRIED) do |n|
      Sidekiq::Client.push("class" => "Fail", "queue" => queue_of(n), "retry" => 1, "args" => ["comes again #{n}"])
    end
  end

  def test_a_mixed_fleet
    only_brood
    ruby = start_ruby
    push_jobs
    push_failures

    both_are_shown(ruby)
    a_shared_queue_is_warned_of_by_the_check(ruby)
    half_way { ledger.done.size > JOBS / 4 }
    server.signal("HUP")
    kill_a_worker
    a_shared_queue_is_warned_of_in_the_log
    ruby.signal("TERM")
    assert_equal 0, ruby.wait_exit(30).exitstatus, ruby.log
    start_ruby
    push_the_rest

    eventually("all jobs ran", 240) { ledger.done.size >= JOBS }
    eventually("all failures died", 120) { Sidekiq::DeadSet.new.size >= DYING + RETRIED }
    eventually("the retry of the killed worker's job", 120) { Sidekiq::RetrySet.new.size.zero? }
    every_job_ran
    the_failures_are_in_the_dead_set
    the_counters_add_up
    nothing_is_left
    every_page_renders
  end

  private

  def half_way(&) = eventually("a part of the jobs ran", 120, &)

  def status = JSON.parse(brood(redis, "status", "--json", environment: server.environment))

  def both_are_shown(ruby)
    processes = Sidekiq::ProcessSet.new.to_a
    assert_equal [server.pid, ruby.pid].sort, processes.map { |process| process["pid"] }.sort
    assert_equal [server.pid, ruby.pid].sort, status["processes"].map { |process| process["pid"] }.sort
    assert_includes Browser.new.page("/busy"), "#{Socket.gethostname}:#{server.pid}"
    assert_includes Browser.new.page("/busy"), "#{Socket.gethostname}:#{ruby.pid}"
  end

  def a_shared_queue_is_warned_of_by_the_check(ruby)
    identity = Sidekiq::ProcessSet.new.find { |process| process["pid"] == ruby.pid }.identity
    checked = ->(queue) { brood(redis, "run", "--check", "--redis", redis.url, "-r", EXAMPLES, "-q", queue) }
    assert_includes checked.("low"), "warning: Sidekiq's process #{identity} fetches from the queue low too"
    QUEUES.each { |queue| assert_includes checked.("*"), "from the queue #{queue} too" }
    refute_includes checked.("native"), "warning"
  end

  # brood started before Ruby, so it looks again at the end of a restart, which watches workers in trouble for half a
  # minute.
  def a_shared_queue_is_warned_of_in_the_log
    eventually("the warning of each queue", 90) do
      log = server.log
      QUEUES.all? { |queue| log.include?("event=queue_shared_with_sidekiq queue=#{queue} process=") }
    end
  rescue Minitest::Assertion => e
    told = server.log.lines.grep(/event=(restart|asked|worker_|queue_shared)/)
    raise Minitest::Assertion, "#{e.message}\n#{told.join}"
  end

  # Its present job, if any, is charged and retried.
  def kill_a_worker
    Process.kill("KILL", status["workers"].find { |worker| worker["pid"].to_i.positive? }["pid"])
  rescue Errno::ESRCH # the restart was faster
  end

  def every_job_ran
    runs = ledger.done.tally
    assert_equal [], (0...JOBS).map(&:to_s) - runs.keys, "lost"
    assert_equal [], runs.keys - (0...JOBS).map(&:to_s), "never pushed"
    # A job that had written its last line when its worker was killed runs once more.
    assert_operator runs.count { |_, times| times > 1 }, :<=, 1, "ran more than once: #{runs.select { |_, times| times > 1 }}"
    assert_empty @ruby_pids.map(&:to_s) - ledger.writers, "Ruby took no part"
    assert_operator (ledger.writers - @ruby_pids.map(&:to_s)).size, :>=, 2, "brood took no part"
  end

  def the_failures_are_in_the_dead_set
    assert_equal [], @dying.to_a + @retried - dead_jids.to_a
    again = Sidekiq::DeadSet.new.select { |entry| @retried.include?(entry.jid) }
    again.each { |entry| assert_equal [1, true], [entry.item["retry_count"], entry.item.key?("retried_at")], entry.value }
    assert_equal ["Fail"], again.map(&:klass).uniq
  end

  # Each attempt counts as processed, each failed one also as failed; a charged kill may have added one to both.
  def the_counters_add_up
    processed = JOBS + DYING + 2 * RETRIED
    failed = DYING + 2 * RETRIED
    eventually("the last heartbeats", 40) { stats.processed >= processed && stats.failed >= failed }
    assert_includes processed..processed + 1, stats.processed
    assert_includes failed..failed + 1, stats.failed
    assert_equal stats.processed, Sidekiq::Stats::History.new(2).processed.values.sum
  end

  def nothing_is_left
    assert_equal [0, 0, 0], [stats.enqueued, stats.scheduled_size, stats.retry_size]
    in_flight = Sidekiq.redis { |connection| connection.keys("brood:inflight:*:*") }
    lists = in_flight.select { |key| Sidekiq.redis { |connection| connection.type(key) } == "list" }
    assert_equal [], lists
  end

  def every_page_renders = %w[/ /busy /queues /retries /scheduled /morgue /stats].each { |path| Browser.new.page(path) }
end
