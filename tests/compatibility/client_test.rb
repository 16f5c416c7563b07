# Ruby enqueues and brood performs; brood enqueues and Ruby performs.
require_relative "support"

class ClientTest < CompatibilityTest
  start queues: %w[default images]

  def ledger(name) = Ledger.new(redis, name)

  def test_a_plain_push_is_performed
    jobs = ledger("plain")
    jid = Sidekiq::Client.push("class" => "Ledger", "args" => [jobs.path, "one", 0])
    assert_match(/\A[0-9a-f]{24}\z/, jid)
    eventually("the job is done") { jobs.done == ["one"] }
  end

  def test_a_push_to_another_queue_with_options_is_performed
    jobs = ledger("options")
    Sidekiq::Client.push("class" => "Ledger", "args" => [jobs.path, "one", 0], "queue" => "images", "retry" => 3,
                         "tags" => ["a", "b"], "custom" => { "kept" => [1, 2.5, nil, 2**70] })
    eventually("the job is done") { jobs.done == ["one"] }
  end

  def test_a_bulk_push_is_performed_once_each
    jobs = ledger("bulk")
    jids = Sidekiq::Client.push_bulk("class" => "Ledger", "args" => (1..500).map { |i| [jobs.path, i.to_s, 0] })
    assert_equal 500, jids.compact.size
    eventually("all are done") { jobs.done.size >= 500 }
    assert_equal (1..500).map(&:to_s).sort, jobs.done.sort
  end

  def test_jobs_of_a_sequence_are_performed_in_the_order_of_their_pushes
    only_brood
    jobs = ledger("sequence")
    ids = (1..16).map(&:to_s)
    Sidekiq::Client.push_bulk("class" => "Ledger", "sequence" => "account-7",
                              "args" => ids.first(8).map { |id| [jobs.path, id, 3] })
    ids.drop(8).each do |id|
      Sidekiq::Client.push("class" => "Ledger", "args" => [jobs.path, id, 0], "sequence" => "account-7")
    end
    eventually("all are done") { jobs.done.size >= ids.size }
    assert_equal ids, jobs.done
  end

  def test_a_scheduled_push_is_performed_when_due_and_not_before
    jobs = ledger("scheduled")
    due = Time.now.to_f + 1
    Sidekiq::Client.push("class" => "Ledger", "args" => [jobs.path, "later", 0], "at" => due)
    eventually("the job is done") { jobs.done == ["later"] }
    assert_operator Time.now.to_f, :>=, due
    assert_equal 0, Sidekiq::ScheduledSet.new.size
  end

  # No Ruby process runs, but pages of any release, and tools that scale by latency, read the times.
  def test_what_brood_pushes_has_times_that_every_release_reads
    only_brood
    brood(redis, "enqueue", "Any", "-q", "nobodys")
    job = Sidekiq::Queue.new("nobodys").first
    assert_kind_of Float, job["created_at"]
    assert_in_delta Time.now.to_f, job.enqueued_at.to_f, 120
    assert_in_delta 0, Sidekiq::Queue.new("nobodys").latency, 120
  end

  def test_a_failing_job_keeps_every_member_that_ruby_wrote
    Sidekiq::Client.push("class" => "Fail", "args" => ["on purpose"], "retry" => 5, "tags" => ["a"], "backtrace" => true,
                         "custom" => { "big" => 2**70, "empty" => [], "float" => 1.0, "text" => "ü\u2028/" })
    entry = eventually("a retry") { Sidekiq::RetrySet.new.find { |job| job.klass == "Fail" } }
    assert_equal({ "big" => 2**70, "empty" => [], "float" => 1.0, "text" => "ü\u2028/" }, entry.item["custom"])
    assert_equal 5, entry.item["retry"]
    assert_equal ["a"], entry.tags
    entry.delete
  end

  def test_what_brood_enqueues_ruby_performs
    only_brood
    jobs = ledger("ruby")
    brood(redis, "enqueue", "Ledger", jobs.path, "one", "0", "-q", "ruby")
    brood(redis, "enqueue", "Ledger", "--args", JSON.generate([jobs.path, "two", 0]), "-q", "ruby")
    brood(redis, "enqueue", "Ledger", jobs.path, "three", "0", "-q", "ruby", "--in", "1s")
    bulk = File.join(redis.directory, "jobs.ndjson")
    File.write(bulk, (1..50).map { |i| JSON.generate("class" => "Ledger", "args" => [jobs.path, "bulk#{i}", 0], "queue" => "ruby") + "\n" }.join)
    brood(redis, "enqueue", "--bulk", bulk)

    sidekiq = RubySidekiq.new(redis, %w[-q ruby])
    eventually("Ruby did all") { jobs.done.size >= 53 }
    assert_equal (["one", "two", "three"] + (1..50).map { |i| "bulk#{i}" }).sort, jobs.done.sort
  ensure
    sidekiq&.stop
  end

  def test_a_retry_that_ruby_wrote_is_performed_by_brood
    only_brood
    brood(redis, "enqueue", "Fail", "in Ruby", "-q", "ruby")
    sidekiq = RubySidekiq.new(redis, %w[-q ruby])
    entry = eventually("Ruby's retry") { Sidekiq::RetrySet.new.find { |job| job.item["error_message"] == "in Ruby" } }
    sidekiq.stop
    assert_equal 0, entry.item["retry_count"]
    Sidekiq.redis { |connection| connection.zadd("retry", Time.now.to_f, entry.value) }
    # It goes to the payload's queue, `ruby`, which no process serves any more.
    eventually("the retry came due") { Sidekiq::Queue.new("ruby").size == 1 }
    job = Sidekiq::Queue.new("ruby").first
    job.delete
    Sidekiq::Client.push(job.item.merge("queue" => "default"))
    again = eventually("brood's retry") { Sidekiq::RetrySet.new.find { |retried| retried.jid == entry.jid && retried.item["retry_count"] == 1 } }
    assert_equal entry.item["failed_at"], again.item["failed_at"]
    again.delete
  ensure
    sidekiq&.stop
  end
end
