# Sidekiq's API reads and changes what brood wrote.
require_relative "support"

class DataApiTest < CompatibilityTest
  start workers: 2

  def push(job_class, *args, **options) = Sidekiq::Client.push({ "class" => job_class, "args" => args }.merge(options.transform_keys(&:to_s)))

  def retried(jid) = eventually("#{jid} in retry") { Sidekiq::RetrySet.new.find { |job| job.jid == jid } }

  def dead(jid) = eventually("#{jid} in dead") { Sidekiq::DeadSet.new.find { |job| job.jid == jid } }

  def test_the_process_is_listed_as_one_of_sidekiqs
    process = server.process
    assert_equal server.pid, process["pid"]
    assert_equal Socket.gethostname, process["hostname"]
    assert_equal 2, process["concurrency"]
    assert_equal ["default"], process.queues
    assert_equal "false", process["quiet"]
    assert_in_delta Time.now.to_f, process["beat"], 30
    assert_in_delta Time.now.to_f, process["started_at"], 120
    assert_operator process["rss"], :>, 1000
    assert_operator process["rtt_us"], :>, 0
    assert_kind_of Array, process.labels
    assert_equal 2, Sidekiq::ProcessSet.new.total_concurrency
  end

  def test_a_running_job_is_listed_as_work
    jid = push("Sleep", 12_000)
    work = eventually("the job is busy") { works.find { |found| found.payload["jid"] == jid } }
    assert_equal server.identity, work.identity
    assert_match(/\A[0-9a-z]+\z/, work.thread)
    assert_equal "default", work.queue
    assert_equal "Sleep", work.payload["class"]
    assert_equal [12_000], work.payload["args"]
    assert_in_delta Time.now.to_i, work.run_at.to_i, 15
    assert_equal 1, Sidekiq::WorkSet.new.size
    assert_equal 1, server.process["busy"]
  end

  def test_a_failure_is_a_retry_that_the_api_decodes_and_runs_again
    jid = push("Fail", "no such file: ü", backtrace: true)
    entry = retried(jid)
    refute_empty entry.item["error_class"]
    assert_equal "no such file: ü", entry.item["error_message"]
    assert_equal 0, entry.item["retry_count"]
    assert_equal "default", entry.item["queue"]
    assert_in_delta Time.now.to_f + 15, entry.score, 14
    entry.retry
    again = eventually("failed again") { Sidekiq::RetrySet.new.find { |job| job.jid == jid && job.item["retried_at"] } }
    assert_equal 0, again.item["retry_count"] # the API takes one off before it pushes
    again.delete
    assert_nil Sidekiq::RetrySet.new.find_job(jid)
  end

  def test_a_crash_is_a_retry_that_says_so
    only_brood
    jid = push("Segfault")
    entry = retried(jid)
    assert_equal "SIGSEGV", entry.item["error_class"]
    assert_match(/SIGSEGV.*Segfault/, entry.item["error_message"])
    assert_match(/\A#0 Segfault::perform\(\) at crashes\.cpp:\d+ \(libexamples\.so\+0x\h+\)\z/, entry.error_backtrace.first)
    crash = entry.item["crash"]
    assert_equal %w[SIGSEGV SEGV_MAPERR 0x10], crash.values_at("signal", "code", "address")
    assert_match(/\A\h{12}\z/, crash["fingerprint"])
    assert_in_delta Time.now.to_f, crash["at"], 60
    entry.kill
    assert_equal jid, dead(jid).jid
    dead(jid).delete
  end

  def test_a_job_without_retries_left_dies_and_can_be_run_again
    jid = push("Fail", "for good", retry: 0)
    entry = dead(jid)
    assert_equal "for good", entry.item["error_message"]
    assert_nil Sidekiq::RetrySet.new.find_job(jid)
    entry.retry # takes it out of the set before it pushes
    dead(jid).delete
  end

  def test_an_unknown_class_is_a_retry_that_names_it
    jid = push("NoSuchJob")
    entry = retried(jid)
    assert_match(/NoSuchJob/, entry.item["error_message"])
    entry.delete
  end

  def test_a_job_that_active_job_has_wrapped_says_what_to_do
    only_brood
    %w[ActiveJob::QueueAdapters::SidekiqAdapter::JobWrapper Sidekiq::ActiveJob::Wrapper].each do |wrapper|
      jid = push(wrapper, { "job_class" => "Resize", "arguments" => [] }, wrapped: "Resize")
      entry = retried(jid)
      assert_equal "NameError", entry.item["error_class"]
      assert_match(/\Ano job class "Resize" is loaded.*it is an Active Job.*let a Ruby Sidekiq serve its queue/, entry.item["error_message"])
      entry.delete
    end
  end

  def test_what_brood_enqueues_the_queue_api_finds_and_deletes
    only_brood
    brood(redis, "enqueue", "Sleep", "1", "-q", "idle")
    queue = Sidekiq::Queue.new("idle")
    assert_equal 1, queue.size
    assert_includes Sidekiq::Queue.all.map(&:name), "idle"
    assert_kind_of Numeric, queue.latency
    job = queue.first
    assert_equal ["Sleep", [1], "idle"], [job.klass, job.args, job.queue]
    assert_match(/\A[0-9a-f]{24}\z/, job.jid)
    assert_equal 1, queue.find_job(job.jid).delete && 1
    assert_equal 0, queue.size
  end

  def test_what_brood_schedules_the_api_reschedules_and_runs
    only_brood
    brood(redis, "enqueue", "Sleep", "1", "--in", "1h", "-q", "idle")
    entry = Sidekiq::ScheduledSet.new.first
    assert_in_delta Time.now.to_f + 3600, entry.score, 60
    entry.reschedule(Time.now + 7200) # needs the member to be what Ruby would generate, byte for byte
    assert_equal 1, Sidekiq::ScheduledSet.new.size
    entry = Sidekiq::ScheduledSet.new.first
    assert_in_delta Time.now.to_f + 7200, entry.score, 60
    entry.add_to_queue
    assert_equal 0, Sidekiq::ScheduledSet.new.size
    assert_equal 1, Sidekiq::Queue.new("idle").size
    Sidekiq::Queue.new("idle").clear
  end

  def test_a_retry_can_be_rescheduled_without_becoming_another_member
    jid = push("Fail", "later, please")
    retried(jid).reschedule(Time.now + 7200)
    assert_equal 1, Sidekiq::RetrySet.new.count { |job| job.jid == jid }
    assert_in_delta Time.now.to_f + 7200, retried(jid).score, 60
    retried(jid).delete
  end

  def test_the_statistics_count_attempts_and_failures
    before = Sidekiq::Stats.new
    push("Sleep", 1)
    failing = push("Fail", "counted")
    retried(failing).delete
    eventually("the next heartbeats counted both", 40) do
      now = Sidekiq::Stats.new
      now.processed >= before.processed + 2 && now.failed >= before.failed + 1
    end
    today = Sidekiq::Stats::History.new(1)
    assert_operator today.processed.values.sum, :>=, 2
    assert_operator today.failed.values.sum, :>=, 1
    assert_equal 1, Sidekiq::Stats.new.processes_size
  end
end
