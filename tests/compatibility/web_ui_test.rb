# Sidekiq's stock Web UI shows and controls brood.  No network: the Rack application is called in this process.
require_relative "support"
require_relative "browser"

class WebUiTest < CompatibilityTest
  start workers: 4

  def self.test_order = :alpha # the one that stops the server is the last

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
    # Not by its jid or arguments: those are what is shown otherwise.
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
