# Rails' Active Job: perform_later of classes that brood performs, with arguments of every kind, and of one that stays in Ruby.
require_relative "support"
begin
  require "active_job"
  require "active_support/all"
  require "globalid"
  require "active_job/queue_adapters/sidekiq_adapter"
rescue LoadError => error
  warn "Skipped: Active Job is not installed (#{error.message})"
  exit! 77
end

GlobalID.app = "shop"
Time.zone = "Europe/Berlin"
ActiveJob::Base.logger = Logger.new(nil)
ActiveJob::Base.queue_adapter = :sidekiq

class Order
  include GlobalID::Identification
  attr_reader :id
  def initialize(id) = @id = id
end

class AllKinds < ActiveJob::Base
  queue_as :native
end

class Counted < ActiveJob::Base
  queue_as :native
end

class Fails < ActiveJob::Base
  queue_as :native
end

class ChargesOnce < ActiveJob::Base
  queue_as :native
end

class OnlyRuby < ActiveJob::Base
  queue_as :native
end

class ActiveJobTest < CompatibilityTest
  LIBRARY = File.join(BUILD, "tests/libactive_jobs.so")
  start workers: 2, queues: ["native"], options: ["-r", LIBRARY]

  def setup
    only_brood
    redis.command("DEL", "queue:native", "retry", "dead")
    @path = File.join(redis.directory, "lines-#{name}")
  end

  def lines = File.exist?(@path) ? File.readlines(@path, chomp: true) : []
  def retries = Sidekiq::RetrySet.new.to_a

  def test_arguments_of_every_kind_arrive
    AllKinds.perform_later(@path, Order.new(7), Time.zone.at(1795237318, 514_199, :microsecond), 5.minutes, :fast,
                           width: 320, format: "png")
    eventually("the job") { lines.size == 1 }
    assert_equal ["shop Order 7 1795237318514199 300 fast 320png"], lines
    AllKinds.perform_later(@path, Order.new("a b"), Time.at(0), 90.seconds, "slow")
    eventually("the next job") { lines.size == 2 }
    assert_equal "shop Order a b 0 90 slow -1", lines.last
  end

  def test_what_cannot_be_unwrapped_is_named_in_the_retry
    AllKinds.perform_later(@path, Order.new(7), BigDecimal("1.5"), 5.minutes, 1..2) rescue skip("this Rails has no ranges")
    job = eventually("a retry") { retries.first }
    assert_equal "ArgumentError", job["error_class"]
    assert_match(/AllKinds: argument 5 of the Active Job is an object of ActiveJob::Serializers::RangeSerializer/, job["error_message"])
  end

  def test_a_failed_job_is_retried_as_active_job_wrote_it
    Fails.perform_later(@path)
    job = eventually("a retry") { retries.first }
    assert_equal "as it must", job["error_message"]
    assert_equal "Fails", job.display_class
    assert_equal [@path], job["args"].first["arguments"]
    assert_equal "Fails", job["wrapped"]
  end

  def test_the_retries_are_those_of_the_cpp_class
    ChargesOnce.perform_later(@path)
    eventually("a dead job") { Sidekiq::DeadSet.new.size == 1 }
    assert_equal ["charged"], lines
    assert_equal "no receipt came", Sidekiq::DeadSet.new.first["error_message"]
  end

  def test_a_class_that_is_not_known_here_says_so
    OnlyRuby.perform_later
    job = eventually("a retry") { retries.first }
    assert_equal "NameError", job["error_class"]
    assert_match(/OnlyRuby.*it is an Active Job: if its class is Ruby's, let a Ruby Sidekiq serve its queue/, job["error_message"])
  end

  # 2,000 jobs, and every worker killed several times.
  def test_nothing_is_lost_or_doubled_under_kill
    2000.times { |i| Counted.perform_later(@path, i) }
    4.times do |round|
      eventually("round #{round}") { lines.size > 400 * round }
      children = Dir.glob("/proc/#{server.pid}/task/*/children").flat_map { |path| File.read(path).split }
      children.each { |pid| Process.kill("KILL", pid.to_i) if File.read("/proc/#{pid}/cmdline").start_with?("brood: worker") rescue nil }
    end
    Sidekiq::RetrySet.new.each(&:retry) while eventually("all jobs", 60) { lines.uniq.size == 2000 || retries.any? } && lines.uniq.size < 2000
    eventually("an empty queue") { Sidekiq::Queue.new("native").size.zero? }
    assert_equal 2000, lines.uniq.size
    assert_operator lines.size - 2000, :<=, 8, "only jobs of killed workers run twice"
    assert_equal 0, Sidekiq::DeadSet.new.size
  end
end
