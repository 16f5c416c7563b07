# brood releases locks that the client of the gem sidekiq-unique-jobs took, with their jobs.  This test writes the gem's
# layout, of release 8, by hand; if Ruby finds the gem, 8 or 9, its own client pushes as well.
require_relative "support"
begin
  require "sidekiq-unique-jobs"
  Sidekiq.configure_client { |config| config.client_middleware { |chain| chain.add SidekiqUniqueJobs::Middleware::Client } }
rescue LoadError
  puts "Left out: pushes by the gem sidekiq-unique-jobs, which is not installed"
end

class SidekiqUniqueJobsTest < CompatibilityTest
  start workers: 1, queues: ["default"], config: "[compatibility]\nsidekiq_unique_jobs = true\n"

  DIGEST = "uniquejobs:#{"0123456789abcdef" * 2}"

  def setup
    only_brood
    redis.command("DEL", "queue:elsewhere", "schedule", "retry", "dead", *left)
  end

  def left = redis.command("KEYS", "uniquejobs:*").reject { |key| key.start_with?("uniquejobs:changelog", "uniquejobs:metrics") }
  def holds?(jid) = redis.command("HGET", "#{DIGEST}:LOCKED", jid)
  def push_raw(payload) = redis.command("LPUSH", "queue:#{payload["queue"]}", JSON.generate(payload))

  def push_with_lock(job_class, args, lock, more = {})
    jid = SecureRandom.hex(12)
    redis.command("HSET", "#{DIGEST}:LOCKED", jid, Time.now.to_f.to_s)
    redis.command("SET", DIGEST, jid)
    redis.command("ZADD", "uniquejobs:digests", Time.now.to_f.to_s, DIGEST)
    push_raw({ "class" => job_class, "args" => args, "queue" => "default", "jid" => jid, "retry" => true, "created_at" => Time.now.to_f,
               "enqueued_at" => Time.now.to_f, "lock" => lock, "lock_timeout" => 0, "lock_ttl" => nil, "lock_prefix" => "uniquejobs",
               "lock_args" => args, "lock_digest" => DIGEST }.merge(more))
    jid
  end

  def test_the_lock_goes_when_the_job_is_done
    ledger = Ledger.new(redis, name)
    push_with_lock("Ledger", [ledger.path, "0", 1], "until_executed")
    eventually("it is let go") { ledger.done.size == 1 && left.empty? }
  end

  def test_the_lock_of_a_failed_job_stays_until_it_is_deleted
    jid = push_with_lock("Fail", ["again"], "until_executed")
    eventually("it is to be tried again") { redis.command("ZCARD", "retry") == 1 }
    assert holds?(jid)
    brood(redis, "retries", "clear", "--yes", "-C", File.join(redis.directory, "brood", "brood.toml"), "--redis", redis.url)
    assert_empty left
  end

  def test_programs_without_a_configuration_are_told_by_their_environment
    2.times { push_with_lock("Ledger", [1], "until_executed", "queue" => "elsewhere") }
    brood(redis, "queues", "clear", "elsewhere", "--yes", environment: { "REDIS_URL" => redis.url, "BROOD_SIDEKIQ_UNIQUE_JOBS" => "1" })
    assert_empty left

    jid = push_with_lock("Ledger", [1], "until_executed", "queue" => "elsewhere")
    brood(redis, "queues", "clear", "elsewhere", "--yes")
    assert holds?(jid), "nobody asked for it"
  end

  def test_the_lock_of_a_job_that_dies_goes
    push_with_lock("Fail", ["once"], "until_executed", "retry" => 0)
    eventually("it is dead") { redis.command("ZCARD", "dead") == 1 }
    assert_empty left
  end

  # Otherwise the lock would exist while the job waits for its next attempt.
  def test_a_lock_until_the_beginning_goes_before_the_job_runs
    %w[until_executing until_and_while_executing].each do |lock|
      redis.command("DEL", "retry")
      push_with_lock("Fail", ["again"], lock)
      eventually("it is to be tried again") { redis.command("ZCARD", "retry") == 1 }
      assert_empty left, lock
    end
  end

  def test_the_gem_pushes_again_what_brood_has_done
    skip "the gem sidekiq-unique-jobs is not installed" unless defined?(SidekiqUniqueJobs)
    ledger = Ledger.new(redis, name)
    push = ->(lock, more = {}) { Sidekiq::Client.push({ "class" => "Ledger", "args" => [ledger.path, "0", 1], "lock" => lock }.merge(more)) }
    assert push.call("until_executed", "queue" => "elsewhere")
    assert_nil push.call("until_executed", "queue" => "elsewhere")
    %w[until_executed until_executing until_and_while_executing].each_with_index do |lock, i|
      2.times do |j|
        assert push.call(lock, "lock_info" => true), lock
        eventually("#{lock} is let go") { ledger.done.size == 2 * i + j + 1 && redis.command("ZCARD", "uniquejobs:digests") == 1 }
      end
    end
    assert push.call("until_expired", "lock_ttl" => 600)
    eventually("it is done") { ledger.done.size == 7 }
    assert_nil push.call("until_expired", "lock_ttl" => 600)
  end
end
