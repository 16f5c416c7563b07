# Each row of packaging/doc/from-sidekiq.md is walked: with what a Sidekiq has (its file, its commands, its client and
# API, its gems' sections), brood does what the row says.  `walks` names the rows of a test by their first cell;
# ELSEWHERE names the tests that walk the others.  A row without a walk fails, and so does a walk without a row.
require_relative "support"
require "net/http"
require "yaml"

class FromSidekiqTest < CompatibilityTest
  GUIDE = File.expand_path("../../packaging/doc/from-sidekiq.md", __dir__)
  UNIT = File.expand_path("../../packaging/systemd/brood.service", __dir__)
  ELSEWHERE = {
    "Active Job" => ["active_job_test.rb", "test_arguments_of_every_kind_arrive"],
    "sidekiq-unique-jobs" => ["sidekiq_unique_jobs_test.rb", "test_the_lock_goes_when_the_job_is_done"],
    "sidekiq-batch" => ["batches_test.rb", "test_brood_performs_a_batch_of_ruby"],
    "sidekiq-failures" => ["web_ui_test.rb", "test_5_the_retries_page_shows_a_crash"],
    "Sidekiq Web" => ["web_ui_test.rb", "test_1_every_page_renders"],
    "sentry-sidekiq, honeybadger" => ["../lifecycle/error_reports_test.py", "test_each_service_and_the_program_get_an_exception_and_a_crash"],
    "sidekiq-status" => ["../lifecycle/results_test.cpp", "a_job_is_shown_with_its_holder_and_its_progress"],
    "reliable push" => ["../store/push_buffer_test.cpp", "pushes_wait_while_redis_is_away_and_go_in_order_with_the_next_one"],
    "batches" => ["batches_test.rb", "test_brood_performs_a_batch_of_ruby"],
    "rate limiters" => ["../lifecycle/limiters_test.cpp", "a_job_over_its_limit_is_deferred_uncharged"],
    "unique jobs" => ["unique_jobs_test.rb", "test_of_equal_jobs_one_is_pushed_with_its_lock"],
    "periodic jobs" => ["../lifecycle/periodic_test.cpp", "each_tick_pushes_one_job_whichever_of_two_supervisors_it_is"],
    "encryption" => ["encryption_test.rb", "test_1_brood_performs_what_ruby_has_encrypted"],
    "historical metrics" => ["../lifecycle/statsd_test.cpp", "counts_add_up_over_crashes_and_kills"],
    "rolling restarts" => ["../lifecycle/roll_storm_test.cpp", "rolling_restarts_under_load_lose_no_job_and_repeat_none_and_workers_fetch_all_the_while"],
  }.freeze

  @redis = PrivateRedis.new
  Minitest.after_run { @redis.stop }
  @walked = []

  class << self
    attr_reader :walked

    # The rows that the next test walks.
    def walks(*rows) = walked.concat(rows)
  end

  def setup
    only_brood
    redis.command("FLUSHALL")
    @directory = Dir.mktmpdir("from-", redis.directory)
    %w[run state].each { |name| Dir.mkdir(File.join(@directory, name), 0o700) }
    @environment = { "RUNTIME_DIRECTORY" => "#{@directory}/run", "STATE_DIRECTORY" => "#{@directory}/state", "REDIS_PROVIDER" => nil,
                     "REDIS_URL" => redis.url }
    @children = []
  end

  # A second TERM does not wait for a running job; within a tenth of a second it would count as the first.
  def teardown
    running = @children&.select(&:running?) || []
    running.each { |child| child.signal("TERM") }
    told = Process.clock_gettime(Process::CLOCK_MONOTONIC)
    eventually("they end, or time passes") { running.none?(&:running?) || Process.clock_gettime(Process::CLOCK_MONOTONIC) > told + 0.2 }
    running.each(&:stop)
  end

  # What `brood import` makes of Sidekiq's file: the text of a brood.toml.
  def import(yaml, *options)
    File.write("#{@directory}/sidekiq.yml", yaml)
    command("import", "#{@directory}/sidekiq.yml", *options)
  end

  def command(*words, **options) = brood(redis, *words, environment: @environment, **options)
  def status = JSON.parse(command("status", "--json"))

  # Runs brood with the imported file, and `more` TOML in front of it.
  def run_imported(yaml, *options, more: "")
    run_with(more + "\n" + import(yaml), *options)
  end

  def run_with(toml, *options)
    File.write("#{@directory}/brood.toml", toml)
    @log = "#{@directory}/log"
    @server = Child.new(@log, @environment, BROOD, "run", "-C", "#{@directory}/brood.toml", "-r", EXAMPLES, *options)
    @children << @server
    eventually("a heartbeat\n#{@server.log}") { raise Minitest::Assertion, @server.log unless @server.running?; process }
    eventually("it is ready") { @server.log.include?("event=ready") }
    @server
  end

  def process = Sidekiq::ProcessSet.new.find { |one| one["pid"] == @server.pid }
  def push(job_class, *args, **options) = Sidekiq::Client.push({ "class" => job_class, "args" => args }.merge(options.transform_keys(&:to_s)))
  def ledger = @ledger ||= Ledger.new(redis, "ledger-#{File.basename(@directory)}")
  def pushed_to(queue, id, ms = 0) = push("Ledger", ledger.path, id, ms, queue: queue)

  # How many of the ledger's jobs ran at the same time, at most.
  def most_at_once
    running = 0
    File.readlines(ledger.path).map { |line| running += line.start_with?("S") ? 1 : -1 }.max
  end

  # ---- The tables themselves

  # The first cells of a table's rows, one for each code or gem in it.
  def self.rows(heading)
    text = File.read(GUIDE)[/^## #{heading}\n(.*?)(?=^## |\z)/m, 1] or raise "#{GUIDE} has no section #{heading}"
    text.scan(/^\| (.+?) \|/).flatten.drop(1)
  end

  def test_each_row_of_the_guide_has_a_walk
    rows = ["Setting by setting", "Command by command", "Gem by gem", "Features of Pro and Enterprise"].flat_map { |heading| self.class.rows(heading) }
    assert_operator rows.size, :>, 30
    assert_empty rows - self.class.walked - ELSEWHERE.keys, "rows without a walk"
    assert_empty self.class.walked + ELSEWHERE.keys - rows, "walks without a row"
    ELSEWHERE.each { |row, (file, test)| assert File.read(File.join(__dir__, file)).include?(test), "the walk of #{row}" }
  end

  # ---- Setting by setting

  walks "`:concurrency`", "`:environment`, `:tag`, `:labels`"
  def test_the_process_is_shown_as_the_file_says
    run_imported(<<~YAML)
      :concurrency: 3
      :environment: staging
      :tag: moved
      :labels: [reliable, fast]
    YAML
    assert_equal 3, process["concurrency"]
    assert_equal 3, status["workers"].map { |worker| worker["pid"] }.uniq.size
    assert_equal "moved", process["tag"]
    assert_equal %w[reliable fast], process["labels"]
    assert_match(/event=supervisor_started .*environment=staging/, @server.log)
  end

  walks "`:queues`, with weights or strict"
  def test_queues_are_served_in_their_order
    pushed_to("low", "second")
    pushed_to("high", "first")
    run_imported(":concurrency: 1\n:queues: [high, low]\n")
    eventually("both") { ledger.done.size == 2 }
    assert_equal %w[first second], ledger.done
    @server.stop

    run_imported(":concurrency: 1\n:queues:\n  - [high, 3]\n  - low\n")
    assert_equal %w[high low], process["queues"].uniq.sort
    @server.stop

    %w[mail_fast mail_bulk].each { |queue| pushed_to(queue, queue) }
    run_with(%(concurrency = 1\nqueues = ["mail*", "!mail_bulk"]\n))
    eventually("the one that is not excluded") { ledger.done.include?("mail_fast") }
    assert_equal 1, Sidekiq::Queue.new("mail_bulk").size
  end

  walks "`:timeout`"
  def test_a_stop_waits_as_long_as_the_file_says
    run_imported(":concurrency: 1\n:timeout: 1\n")
    jid = push("Sleep", 60_000, timeout: 60)
    eventually("it runs") { status["workers"].any? { |worker| worker["state"] == "busy" } }
    begun = Process.clock_gettime(Process::CLOCK_MONOTONIC)
    @server.signal("TERM")
    @server.wait_exit
    assert_operator Process.clock_gettime(Process::CLOCK_MONOTONIC) - begun, :>=, 1
    assert_equal [jid], Sidekiq::Queue.new.map(&:jid)
    # The packaged unit leaves 20 s more than the default of 25 s.
    assert_equal 45, File.read(UNIT)[/^TimeoutStopSec=(\d+)/, 1].to_i
  end

  walks "`:capsules`"
  def test_a_capsule_has_workers_and_queues_of_its_own
    run_imported(<<~YAML)
      :concurrency: 1
      :queues: [default]
      :capsules:
        ledger:
          concurrency: 1
          queues: [serial]
    YAML
    assert_equal %w[default ledger], status["workers"].map { |worker| worker["capsule"] }.sort
    push("Sleep", 60_000)
    %w[a b c].each { |id| pushed_to("serial", id, 20) }
    eventually("the capsule goes on beside a busy one") { ledger.done == %w[a b c] }
    assert_equal 1, most_at_once
  end

  walks "`:max_retries`, `:dead_max_jobs`, `:dead_timeout_in_seconds`"
  def test_dead_jobs_are_kept_as_the_file_says
    run_imported(":concurrency: 1\n:max_retries: 0\n:dead_max_jobs: 2\n:dead_timeout_in_seconds: 3600\n")
    redis.command("ZADD", "dead", (Time.now.to_f - 7200).to_s, JSON.generate("class" => "Old", "args" => [], "jid" => "0" * 24))
    4.times { |i| push("Fail", "dies #{i}", retry: true) }
    eventually("all have died") { @server.log.scan("event=job_died").size == 4 }
    kept = eventually("only the last are kept") { Sidekiq::DeadSet.new.map { |job| job["error_message"] }.then { |all| all if all.include?("dies 3") && !all.include?("dies 0") } }
    assert_equal 0, Sidekiq::RetrySet.new.size
    @server.stop

    # Sidekiq keeps as many, one less than the number says.
    set_option(:dead_max_jobs, 2) { 4.times { |i| Sidekiq::DeadSet.new.kill(JSON.generate("class" => "Fail", "args" => [i], "jid" => i.to_s * 24)) } }
    assert_equal Sidekiq::DeadSet.new.size, kept.size
  end

  walks "`:average_scheduled_poll_interval`"
  def test_a_scheduled_job_does_not_wait_for_the_next_poll
    run_imported(":concurrency: 1\n:average_scheduled_poll_interval: 600\n")
    push("Ledger", ledger.path, "due", 0, at: Time.now.to_f + 1)
    eventually("it came due", 10) { ledger.done == ["due"] }
  end

  walks "`:max_iteration_runtime`"
  def test_an_iterable_job_is_interrupted_after_its_time
    lines = "#{@directory}/lines"
    File.write(lines, "line\n" * 100_000)
    run_imported(":concurrency: 1\n:max_iteration_runtime: 1\n")
    push("CopyLines", lines, "#{@directory}/copied")
    runs = eventually("all lines", 60) { @server.log[/all lines are copied, in (\d+) runs/, 1] }
    assert_operator runs.to_i, :>, 1
  end

  walks "`:verbose`"
  def test_verbose_is_the_level_of_the_log
    run_imported(":concurrency: 1\n:verbose: true\n")
    push("Greet", "you")
    eventually("a line of debugging\n#{@server.log}") { @server.log.match?(/level=debug|\bDEBUG\b| debug /) }
  end

  walks "`:require`", "`:logfile`, `:pidfile`, `:daemon`"
  def test_what_has_no_counterpart_is_named_with_its_line
    toml = import(":require: ./app\n:logfile: log/sidekiq.log\n:pidfile: tmp/pid\n:daemon: true\n")
    %w[require logfile pidfile daemon].each.with_index(1) { |name, line| assert_match(/^# .*sidekiq\.yml:#{line}: #{name}: has no counterpart/, toml) }
    refute_match(/^(require|logfile|pidfile|daemon)/, toml)
    run_with(%(require = ["#{EXAMPLES}"]\nconcurrency = 1\n))
    pushed_to("default", "of_the_library")
    eventually("a job of the library") { ledger.done == ["of_the_library"] }
  end

  walks "`REDIS_URL`, `REDIS_PROVIDER`"
  def test_redis_is_where_the_environment_says
    [{ "REDIS_URL" => redis.url }, { "REDIS_URL" => "redis://127.0.0.1:1", "REDIS_PROVIDER" => "OUR_REDIS", "OUR_REDIS" => redis.url }].each do |variables|
      @environment.merge!(variables)
      run_with("concurrency = 1\n")
      @server.stop
    end
    @environment.merge!("REDIS_URL" => "redis://127.0.0.1:1", "REDIS_PROVIDER" => nil)
    run_with(%(concurrency = 1\n[redis]\nurl = "#{redis.url}"\n))
  end

  # ---- Command by command

  walks "`bundle exec sidekiq -C config/sidekiq.yml`", "`sidekiqswarm`, `SIDEKIQ_COUNT`"
  def test_the_workers_are_processes
    run_with("concurrency = 1\n", "-c", "3")
    8.times { |i| pushed_to("default", i.to_s, 300) }
    eventually("all") { ledger.done.size == 8 }
    assert_operator ledger.writers.size, :>, 1
    assert_equal 3, process["concurrency"]
  end

  walks "`kill -TSTP`, the button Quiet"
  def test_quiet_and_back
    run_with("concurrency = 1\n")
    [-> { @server.signal("TSTP") }, -> { process.quiet! }, -> { command("quiet") }].each do |quiet|
      quiet.call
      eventually("it is quiet", 60) { process.stopping? }
      command("resume")
      eventually("it goes on") { !process.stopping? }
    end
    pushed_to("default", "after_all")
    eventually("it performs") { ledger.done == ["after_all"] }
  end

  walks "`kill -TERM`, the button Stop"
  def test_stop
    [-> { @server.signal("TERM") }, -> { process.stop! }, -> { command("stop") }].each do |stop|
      run_with("concurrency = 1\n")
      stop.call
      assert_equal 0, @server.wait_exit(60).exitstatus
    end
  end

  walks "`kill -TTIN`"
  def test_a_dump_has_native_stacks
    run_with("concurrency = 1\n")
    push("Sleep", 60_000, timeout: 60)
    eventually("it runs") { status["workers"].any? { |worker| worker["state"] == "busy" } }
    assert_match(/Sleep::perform/, command("dump"))
    process.dump_threads
    eventually("a stack in the log", 60) { @server.log.include?("Sleep::perform") }
  end

  walks "`kill -USR2` (the swarm's restart)"
  def test_restart_and_upgrade_replace_the_workers
    run_with("concurrency = 1\n")
    [%w[restart], %w[upgrade]].each do |words|
      before = status["workers"].map { |worker| worker["pid"] }
      command(*words)
      eventually("other workers") { (status["workers"].map { |worker| worker["pid"] } & before).empty? }
      assert process, "the process and its pid stay"
    end
  end

  walks "`sidekiqmon`"
  def test_status_shows_what_sidekiqmon_shows
    run_with("concurrency = 2\n")
    push("Sleep", 60_000, timeout: 60)
    eventually("it runs") { status["workers"].any? { |worker| worker["state"] == "busy" } }
    2.times { |i| push("Greet", i.to_s, at: Time.now.to_f + 3600) }
    shown, = Open3.capture2e(@environment, "sidekiqmon")
    state = status
    { "processed" => "processed", "failed" => "failed", "enqueued" => "enqueued", "scheduled" => "scheduled", "retries" => "retries", "dead" => "dead" }.each do |theirs, ours|
      assert_equal shown[/#{theirs}: +([\d,]+)/i, 1].to_i, state[ours], "#{theirs} of:\n#{shown}"
    end
    assert_includes shown, process.identity
    assert_equal process.identity, state["processes"].first["identity"]
    assert_match(/--watch/, command("status", "--help"))
  end

  walks "`Sidekiq::Client.push`"
  def test_a_push_by_each_client
    run_with(%(concurrency = 1\n[web]\nlisten = "unix:#{@directory}/web.sock"\n))
    command("enqueue", "Ledger", ledger.path, "shell")
    pushed_to("default", "ruby")
    body = JSON.generate("class" => "Ledger", "args" => [ledger.path, "http"])
    answer = http("POST", "/api/v1/jobs", body)
    assert_match(%r{\AHTTP/1.1 200 }, answer)
    eventually("all of them") { ledger.done.sort == %w[http ruby shell] }
  end

  walks "`Sidekiq::Queue`, `RetrySet`, `DeadSet`"
  def test_listings_show_what_rubys_api_shows
    waiting = push("Greet", "later", queue: "waits")
    run_with("concurrency = 1\n")
    push("Fail", "again", retry: 5)
    push("Fail", "dies", retry: 0)
    eventually("both have failed") { Sidekiq::RetrySet.new.size + Sidekiq::DeadSet.new.size == 2 }
    { %w[queues show waits] => Sidekiq::Queue.new("waits"), %w[retries] => Sidekiq::RetrySet.new, %w[dead] => Sidekiq::DeadSet.new }.each do |words, set|
      assert_equal 1, set.size, words.join(" ")
      assert_includes command(*words), set.first.jid
    end
    assert_equal waiting, Sidekiq::Queue.new("waits").first.jid
    Sidekiq::DeadSet.new.first.retry
    eventually("it dies again") { @server.log.scan("event=job_died").size == 2 }
  end

  # ---- Gem by gem

  walks "sidekiq-cron", "sidekiq-scheduler"
  def test_schedules_become_periodic_jobs
    File.write("#{@directory}/schedule.yml", YAML.dump("report" => { "cron" => "0 3 * * *", "class" => "Ledger", "args" => [ledger.path, "cron"] }))
    toml = import(<<~YAML, "--schedule", "#{@directory}/schedule.yml")
      :concurrency: 1
      :scheduler:
        :schedule:
          often: { every: 15m, class: Ledger, args: ["#{ledger.path}", every] }
          odd: { every: 7m, class: Greet }
          once: { at: "2030/01/01", class: Greet }
    YAML
    run_with(toml)
    shown = eventually("they are served") { command("periodic").then { |text| text if text.include?("often") } }
    assert_includes shown, "report"
    refute_includes shown, "odd"
    assert_match(/^# .*odd/, toml)
    assert_match(/^# .*once/, toml)
    command("periodic", "run", "often")
    command("periodic", "run", "report")
    eventually("both ran") { ledger.done.sort == %w[cron every] }
    command("enqueue", "Greet", "at", "--at", "2030-01-01T00:00:00Z")
    command("enqueue", "Greet", "in", "--in", "1h")
    assert_equal 2, Sidekiq::ScheduledSet.new.size
  end

  walks "sidekiq-throttled"
  def test_a_cap_of_a_class_holds
    run_with(<<~TOML)
      concurrency = 3
      [limits.one]
      classes = ["Ledger"]
      concurrent = 1
    TOML
    6.times { |i| pushed_to("default", i.to_s, 50) }
    eventually("all") { ledger.done.size == 6 }
    assert_equal 1, most_at_once
  end

  walks "sidekiq-limit_fetch"
  def test_limits_of_queues_new_queues_and_pauses
    run_imported(":concurrency: 3\n:queues: [default]\n:dynamic: true\n:limits:\n  slow: 1\n")
    6.times { |i| pushed_to("slow", i.to_s, 50) } # a queue that the file does not name
    eventually("all") { ledger.done.size == 6 }
    assert_equal 1, most_at_once
    command("queues", "pause", "slow")
    eventually("the supervisor knows") { command("queues").match?(/slow.*paused/i) }
    paused = Process.clock_gettime(Process::CLOCK_MONOTONIC)
    eventually("workers follow within two seconds") { Process.clock_gettime(Process::CLOCK_MONOTONIC) > paused + 2.5 }
    pushed_to("slow", "paused")
    pushed_to("default", "not_paused")
    eventually("the other queue") { ledger.done.include?("not_paused") }
    refute_includes ledger.done, "paused"
    command("queues", "unpause", "slow")
    eventually("it goes on") { ledger.done.include?("paused") }
  end

  walks "redis-namespace"
  def test_a_database_in_place_of_a_namespace
    assert_match(/^# .*namespace: .*without a prefix/, import(":namespace: shop\n:concurrency: 1\n"))
    url = "#{redis.url}?db=1"
    @environment["REDIS_URL"] = url
    other = SIDEKIQ < 7 ? ConnectionPool.new(size: 1) { Redis.new(path: redis.url.delete_prefix("unix://"), db: 1) } : Sidekiq::RedisConnection.create(url: redis.url, db: 1)
    run_in(other) { run_with("concurrency = 1\n") }
    job = { "class" => "Ledger", "args" => [ledger.path, "in_database_1"], "jid" => "a" * 24, "queue" => "default", "retry" => true, "created_at" => Time.now.to_f }
    redis.command("SELECT", "1")
    redis.command("LPUSH", "queue:default", JSON.generate(job))
    redis.command("SELECT", "0")
    eventually("it is performed") { ledger.done == ["in_database_1"] }
    assert_equal 0, redis.command("DBSIZE"), "nothing in database 0"
  end

  walks "sidekiq-alive, health checks", "yabeda, prometheus exporters"
  def test_health_and_metrics
    run_with(%(concurrency = 1\n[web]\nlisten = "unix:#{@directory}/web.sock"\n))
    %w[/healthz /readyz].each { |path| eventually(path) { http("GET", path).start_with?("HTTP/1.1 200 ") } }
    assert_match(/^brood_jobs_processed_total /, http("GET", "/metrics"))
  end

  # ---- Features of Pro and Enterprise

  walks "`super_fetch!`"
  def test_the_job_of_a_killed_process_returns
    run_with("concurrency = 1\n")
    jid = push("Sleep", 60_000, timeout: 60)
    eventually("it runs") { status["workers"].any? { |worker| worker["state"] == "busy" } }
    workers = status["workers"].map { |worker| worker["pid"] }
    @server.signal("KILL")
    @server.wait_exit
    workers.each { |pid| Process.kill("KILL", pid) rescue nil }
    run_with("concurrency = 1\nqueues = [\"other\"]\n")
    eventually("it is back in its queue") { Sidekiq::Queue.new.map(&:jid) == [jid] }
  end

  walks "expiring jobs"
  def test_a_job_that_rubys_client_lets_expire_does_not_run
    push("Ledger", ledger.path, "late", 0, expires_in: 1, created_at: Time.now.to_f - 10, enqueued_at: Time.now.to_f - 10)
    pushed_to("default", "in_time")
    before = Process.clock_gettime(Process::CLOCK_MONOTONIC)
    eventually("it has expired") { Process.clock_gettime(Process::CLOCK_MONOTONIC) > before + 1.5 }
    run_with("concurrency = 1\n")
    eventually("the other") { ledger.done == ["in_time"] }
    assert_includes @server.log, "event=job_expired"
  end

  walks "iterable jobs, cancellation"
  def test_an_iterable_job_is_cancelled
    lines = "#{@directory}/lines"
    File.write(lines, "line\n" * 500_000)
    run_with("concurrency = 1\n")
    jid = push("CopyLines", lines, "#{@directory}/copied")
    eventually("it runs") { File.size?("#{@directory}/copied") }
    command("cancel", jid)
    eventually("it has ended") { status["workers"].none? { |worker| worker["state"] == "busy" } }
    assert_operator File.size("#{@directory}/copied"), :<, File.size(lines)
    assert_equal 0, Sidekiq::Queue.new.size + Sidekiq::RetrySet.new.size
  end

  # ---- What stays in Ruby

  class AddTenant
    def call(_job_class, job, _queue, _redis)
      job["tags"] = ["tenant 7"]
      yield
    end
  end

  # The application's class, whose `perform` brood does.
  class ::Ledger
    include Sidekiq::Worker
    sidekiq_options queue: "native", retry: 3
  end

  def test_what_acts_at_the_push_stays_as_it_is
    middleware = SIDEKIQ < 7 ? Sidekiq.client_middleware : Sidekiq.default_configuration.client_middleware
    middleware.add(AddTenant)
    ::Ledger.perform_async(ledger.path, "pushed_by_ruby")
    waiting = Sidekiq::Queue.new("native").first
    assert_equal [3, ["tenant 7"]], [waiting["retry"], waiting["tags"]]
    run_with(%(concurrency = 1\nqueues = ["native"]\n))
    eventually("it is performed") { ledger.done == ["pushed_by_ruby"] }
  ensure
    middleware&.remove(AddTenant)
  end

  private

  def set_option(name, value)
    # The API of 7 looks at the defaults alone.
    options = { 6 => -> { Sidekiq.options }, 7 => -> { Sidekiq::Config::DEFAULTS } }.fetch(SIDEKIQ, -> { Sidekiq.default_configuration }).call
    before, options[name] = options[name], value
    yield
  ensure
    options[name] = before
  end

  # Sidekiq's API in the block speaks to another Redis.
  def run_in(pool, &block)
    SIDEKIQ < 7 ? Sidekiq::Client.via(pool) { with_api_of(pool, &block) } : Sidekiq::Client.via(pool, &block)
  end

  def with_api_of(pool)
    mine = Sidekiq.redis_pool
    Sidekiq.redis = pool
    yield
  ensure
    Sidekiq.redis = mine
  end

  # The answer of `brood web`, which listens on a socket.
  def http(verb, path, body = nil)
    socket = eventually("the page listens") { UNIXSocket.new("#{@directory}/web.sock") rescue nil }
    socket.write("#{verb} #{path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n")
    socket.write("Content-Type: application/json\r\nContent-Length: #{body.bytesize}\r\n") if body
    socket.write("\r\n#{body}")
    socket.read
  ensure
    socket&.close
  end
end
