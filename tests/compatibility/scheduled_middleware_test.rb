# Due jobs of a queue that only Ruby's process serves pass through the middleware of Ruby's client, even if brood's
# scheduler finds them first; brood moves those of its own queue, and of a queue that no process serves.
require_relative "support"

class ScheduledMiddlewareTest < CompatibilityTest
  RUBYS = 40
  NATIVE = 5

  start workers: 1, queues: ["native"]

  def ledger = @ledger ||= Ledger.new(redis)

  def schedule(queue, ids)
    ids.each { |id| Sidekiq::Client.push("class" => "Ledger", "queue" => queue, "args" => [ledger.path, id.to_s], "at" => Time.now.to_f + 1 + id * 0.02) }
  end

  def test_what_ruby_alone_serves_is_pushed_by_ruby
    only_brood
    ruby = RubySidekiq.new(redis, ["-q", "mailers"], jobs: File.join(__dir__, "counting_jobs.rb"))
    Minitest.after_run { ruby.stop }
    eventually("Ruby's heartbeat") { Sidekiq::ProcessSet.new.any? { |process| process["pid"] == ruby.pid } }

    schedule("mailers", 0...RUBYS)
    schedule("native", RUBYS...RUBYS + NATIVE)
    schedule("nobodys", [RUBYS + NATIVE])

    # Sidekiq first looks for due jobs 10 to 15 s after its start.
    eventually("all jobs ran", 90) { ledger.done.size == RUBYS + NATIVE }
    eventually("what nobody serves is in its queue") { Sidekiq::Queue.new("nobodys").size == 1 }
    assert_equal RUBYS, Sidekiq.redis { |connection| connection.get("counted:pushes") }.to_i
    assert_equal 0, Sidekiq::ScheduledSet.new.size
  end
end
