# brood serves the schedules of the gem sidekiq-cron as the gem's own poller does, beside it or without it, and the gem
# shows what brood has pushed.
require_relative "support"
begin
  require "sidekiq-cron"
  require "sidekiq/cron/version"
rescue LoadError => error
  warn "Skipped: the gem sidekiq-cron is not installed (#{error.message})"
  exit! 77
end

class SidekiqCronTest < CompatibilityTest
  start workers: 1, queues: ["other"], config: "[periodic]\nsidekiq_cron = true\n"

  # From release 2 on the gem has namespaces.
  def key(name) = "cron_job:#{"default:" unless Sidekiq::Cron::VERSION.to_i < 2}#{name}"
  def ticks(name) = Sidekiq.redis { |connection| connection.zrange("#{key(name)}:enqueued", 0, -1) }
  def poll(job) = job.public_send(job.respond_to?(:test_and_enqueue_for_time!) ? :test_and_enqueue_for_time! : :test_and_enque_for_time!, Time.now.utc)
  def jobs(queue) = Sidekiq::Queue.new(queue).map { |job| job }
  def create(name, **more)
    assert Sidekiq::Cron::Job.create({ name: name, cron: "* * * * * *", class: "Tick", queue: name, args: ["a", 1] }.merge(more))
  end

  def test_a_tick_is_pushed_once_whoever_is_first
    only_brood
    create("both")
    first = ticks("both")
    eventually("six ticks", 60) do
      poll(Sidekiq::Cron::Job.find("both"))
      jobs("both").size >= 6
    end
    Sidekiq::Cron::Job.find("both").disable!
    assert_equal ticks("both").size - first.size, jobs("both").size
    assert_equal jobs("both").map(&:jid).uniq.size, jobs("both").size
  end

  def test_the_gem_shows_what_brood_has_pushed
    only_brood
    create("shown")
    eventually("two ticks", 60) { jobs("shown").size >= 2 }
    job = Sidekiq::Cron::Job.find("shown")
    assert_operator Time.now.utc - job.last_enqueue_time, :<, 60
    history = job.jid_history_from_redis.map { |entry| entry["jid"] }
    assert_includes history, jobs("shown").last.jid
    assert_equal [["a", 1]], jobs("shown").map(&:args).uniq
    assert_equal ["Tick"], jobs("shown").map(&:klass).uniq

    job.disable!
    now = Time.now.to_i
    eventually("time passes") { Time.now.to_i > now + 1 }
    count = jobs("shown").size
    eventually("time passes") { Time.now.to_i > now + 4 }
    assert_equal count, jobs("shown").size
  end

  def test_a_job_of_active_job_is_wrapped_as_the_gem_does
    only_brood
    create("wrapped", active_job: true, date_as_argument: true)
    job = eventually("a tick", 60) { jobs("wrapped").last }
    Sidekiq::Cron::Job.find("wrapped").disable!
    assert_equal "ActiveJob::QueueAdapters::SidekiqAdapter::JobWrapper", job["class"]
    assert_equal "Tick", job["wrapped"]
    inner = job["args"].first
    assert_equal "Tick", inner["job_class"]
    assert_equal ["a", 1], inner["arguments"].first(2)
    assert_in_delta Time.now.to_f, inner["arguments"].last, 90
  end

  def test_a_rule_that_brood_does_not_read_is_said
    only_brood
    create("words", cron: "every day at noon")
    eventually("it says so", 60) { server.log.include?("event=sidekiq_cron_schedule_fails name=#{key("words")}") }
  end
end
