# Sidekiq's stock Web UI shows and controls brood.  No network: the Rack application is called in this process.
require_relative "support"
require_relative "browser"

class WebUiTest < CompatibilityTest
  HOSTILE = %(<script>alert(1)</script><img src=x onerror=alert(2)>"'&)
  # Sidekiq 7's pages write a tag into a link without escaping it, whoever performs its job.
  TAGS = [SIDEKIQ < 7 ? HOSTILE : "plain"]

  REPORTER = File.join(Dir.mktmpdir("brood-hostile-"), "hostile")
  File.write(REPORTER, "#!/bin/sh\necho 'first <script>alert(1)</script>' >&2\nprintf '%s\\n' \"$1\" >&2\nexit 1\n", perm: 0o755)
  Minitest.after_run { FileUtils.remove_entry(File.dirname(REPORTER)) }

  start workers: 4, options: ["-g", "tag"], config: <<~TOML
    labels = ["label"]
    [commands.Hostile]
    run = ["#{REPORTER}", "{0}"]
  TOML

  def self.test_order = :alpha # the one that stops the server is last

  def browser = @browser ||= Browser.new

  def page(path) = browser.page(path)

  def busy?(jid) = works.any? { |work| work.payload["jid"] == jid }

  def test_1_every_page_renders
    %w[/ /busy /queues /retries /scheduled /morgue /stats].each { |path| page(path) }
  end

  def test_2_the_busy_page_shows_the_process_and_its_job
    jid = Sidekiq::Client.push("class" => "Sleep", "args" => [12_000], "tags" => ["tagged"])
    eventually("the job is busy") { busy?(jid) }
    text = page("/busy")
    assert_includes text, "#{Socket.gethostname}:#{server.pid}"
    assert_includes text, jid
    assert_includes text, "Sleep"
    assert_includes text, "12000"
    assert_includes text, "tagged"
  end

  def test_3_the_busy_page_holds_no_markup_of_a_job
    only_brood
    marked = Sidekiq.dump_json("class" => "Sleep", "args" => [11_000], "jid" => "<script>jid</script>", "queue" => "default",
                               "display_class" => "<img src=x>", "wrapped" => "<svg onload=x>", "retry" => false,
                               "created_at" => Time.now.to_f, "enqueued_at" => Time.now.to_f)
    Sidekiq.redis { |connection| connection.lpush("queue:default", marked) }
    # Not by its jid or arguments, which are shown differently.
    eventually("the job is busy") { works.any? { |work| work.payload["args"] != [12_000] } }
    text = page("/busy")
    ["<script>jid", "<img src=x", "<svg onload"].each { |markup| refute_includes text, markup }
  end

  def test_4_the_retries_page_shows_a_failure_and_its_retry_button_runs_it
    jid = Sidekiq::Client.push("class" => "Fail", "args" => ["seen in the page"], "backtrace" => true)
    entry = eventually("a retry") { Sidekiq::RetrySet.new.find { |job| job.jid == jid } }
    assert_includes page("/retries"), "seen in the page"
    details = page("/retries/#{entry.score}-#{jid}")
    assert_includes details, "seen in the page"
    assert_equal 302, browser.press("/retries/#{entry.score}-#{jid}", retry: "1").status
    eventually("failed again") { Sidekiq::RetrySet.new.any? { |job| job.jid == jid && job.item["retried_at"] } }
  end

  def test_5_the_retries_page_shows_a_crash
    only_brood
    jid = Sidekiq::Client.push("class" => "Segfault", "args" => [])
    entry = eventually("a retry") { Sidekiq::RetrySet.new.find { |job| job.jid == jid } }
    details = page("/retries/#{entry.score}-#{jid}")
    assert_includes details, "SIGSEGV"
    assert_includes details, "#0 Segfault::perform() at crashes.cpp:"
    assert_includes details, entry.item["crash"]["fingerprint"]
  end

  def test_5_texts_that_are_no_jobs_break_no_page
    only_brood
    texts = ["no json", '"text"', "[1, 2]", "null", "5", '{"class":"Fail"}']
    redis.command("LPUSH", "queue:default", *texts)
    eventually("all are dead") { redis.command("ZCARD", "dead").to_i >= texts.size && redis.command("LLEN", "queue:default").to_i.zero? }
    page("/morgue")
    dead = Sidekiq::DeadSet.new.select { |entry| entry["error_class"] == "BadPayload" }
    assert_equal [[1, 2]], dead.find { |entry| entry.args == [[1, 2]] }.args
    assert_equal ["the payload has no args", *["the payload is not a JSON object"] * 3],
                 dead.map { |entry| entry["error_message"].split(":").first }.sort
    dead.each { |entry| page("/morgue/#{entry.score}-#{entry.jid}") if entry.jid }
  end

  # Foreign text of a job, a program or an exception, on every page that shows any of it.
  def test_5_no_page_holds_markup_that_brood_wrote
    only_brood
    jids = { "Hostile" => [HOSTILE], "Fail" => [HOSTILE], "FailOddly" => [], "Segfault" => [] }.flat_map do |job_class, args|
      [true, 0].map { |again| Sidekiq::Client.push("class" => job_class, "args" => args, "retry" => again, "backtrace" => true, "tags" => TAGS) }
    end
    sets = { "/retries" => Sidekiq::RetrySet, "/morgue" => Sidekiq::DeadSet }
    eventually("all failed", 60) { (jids - sets.values.flat_map { |set| set.new.map(&:jid) }).empty? }
    details = sets.flat_map { |path, set| set.new.map { |entry| "#{path}/#{entry.score}-#{entry.jid}" } }
    sleeping = Sidekiq::Client.push("class" => "Sleep", "args" => [30_000], "tags" => TAGS)
    eventually("one is busy") { busy?(sleeping) }
    (%w[/ /busy /queues /queues/default /retries /scheduled /morgue] + details).each do |path|
      ["<script>alert", "<img src=x", "onerror=alert(2)>"].each { |markup| refute_includes page(path), markup, path }
    end
    dead = Sidekiq::DeadSet.new.find { |entry| entry.klass == "FailOddly" }
    assert_includes page("/morgue/#{dead.score}-#{dead.jid}"), "std::optional‹int›"
    [dead.item["error_class"], "std::optional<int>"].each do |error|
      assert_includes brood(redis, "dead", "--error", error), dead.jid
    end
  end

  def test_5_what_the_client_pushes_is_no_markup
    only_brood
    file = File.join(redis.directory, "unique")
    File.write(file, JSON.generate("class" => "Sleep", "args" => [HOSTILE], "at" => Time.now.to_f + 3600, "unique_until" => "done", "unique_by" => [HOSTILE]))
    brood(redis, "enqueue", "--bulk", file, "--unchecked")
    entry = Sidekiq::ScheduledSet.new.find { |job| job["unique_by"] }
    assert entry
    ["<script>alert", "<img src=x"].each { |markup| refute_includes page("/scheduled/#{entry.score}-#{entry.jid}"), markup }
    entry.delete
    [%w[<b>], ["Sleep", "--jid", "<b>"], ["Sleep", "-q", "<b>"]].each do |words|
      output, status = Open3.capture2e({ "REDIS_URL" => redis.url }, BROOD, "enqueue", *words)
      assert_equal 64, status.exitstatus, output
    end
    brood(redis, "mark", HOSTILE)
    marks = redis.command("HVALS", redis.command("KEYS", "*-marks").first)
    refute_match(/[<>]/, marks.join)
  end

  def test_5_the_ages_of_what_brood_pushed_are_sane
    # A Ruby process of this release runs beside brood, which writes what that process reads.
    redis.command("SADD", "processes", "ruby:1:a")
    redis.command("HSET", "ruby:1:a", "info", JSON.generate("hostname" => "ruby", "pid" => 1, "started_at" => Time.now.to_f, "queues" => ["ruby"],
                                                            "concurrency" => 1, "labels" => [], "identity" => "ruby:1:a", "tag" => ""),
                  "busy", "0", "beat", Time.now.to_f.to_s, "quiet", "false")
    jid = brood(redis, "enqueue", "Sleep", "1", "--in", "1h").strip
    entry = Sidekiq::ScheduledSet.new.find_job(jid)
    assert_includes page("/scheduled/#{entry.score}-#{jid}"), entry.created_at.strftime("%Y-%m-%dT%H:%M:%S")
    assert_in_delta Time.now.to_f, entry.created_at.to_f, 60
    brood(redis, "enqueue", "Sleep", "1", "-q", "idle")
    assert_in_delta 0, Sidekiq::Queue.new("idle").latency, 60
    refute_match(/\b\d{5,}-\d\d-\d\d\b/, page("/queues"))
  ensure
    redis.command("SREM", "processes", "ruby:1:a")
    redis.command("DEL", "ruby:1:a")
  end

  def test_6_the_quiet_button_quiets
    assert_equal 302, browser.press("/busy", identity: server.identity, quiet: "1").status
    eventually("it says that it is quiet", 40) { server.process&.stopping? }
    jid = Sidekiq::Client.push("class" => "Sleep", "args" => [1])
    assert_includes page("/busy"), "quiet"
    assert Sidekiq::Queue.new("default").find_job(jid), "a quiet process fetched a job"
  end

  def test_7_the_stop_button_stops
    assert_equal 302, browser.press("/busy", identity: server.identity, stop: "1").status
    status = server.wait_exit(60)
    assert_equal 0, status.exitstatus, server.log
    assert_equal 0, Sidekiq::ProcessSet.new.size
  end
end
