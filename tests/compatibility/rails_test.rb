# A Rails application calls perform_later of three classes; brood performs them, or Ruby's Sidekiq, or both from one queue.
# Meanwhile workers, supervisors and Ruby's processes are killed by SIGKILL.  A ledger says who began and ended which job.
#
# What must hold for each of the jobs, 5,000 a test (BROOD_RAILS_JOBS):
#
# - It ended, with the same facts whoever performed it.  The only excuse is Ruby's: its Sidekiq holds a fetched job in memory
#   alone.  A process that was killed may lose as many jobs as it has threads, and the last to begin such a job was that process.
# - It was begun again only where the process that had begun it before is a worker of brood that was killed.
# - Nothing else is left of it: no queue, no retry, no dead job, no list of jobs in flight.
require_relative "support"
require "set"
begin
  ENV["RAILS_ENV"] = "production"
  require_relative "rails_app/config/environment"
rescue LoadError => error
  warn "Skipped: Rails is not installed (#{error.message})"
  exit! 77
end

class RailsTest < Minitest::Test
  JOBS = Integer(ENV.fetch("BROOD_RAILS_JOBS", "5000"))
  APPLICATION = File.join(__dir__, "rails_app")
  LIBRARY = File.join(BUILD, "tests/librails_jobs.so")
  THREADS = 2 # of each Ruby process
  DUE = Time.utc(2026, 11, 29, 10, 0, 0.25r)
  REDIS = PrivateRedis.new
  Minitest.after_run { REDIS.stop }

  def setup
    skip "a matter of brood alone" if Server.ruby?
    REDIS.command("FLUSHALL")
    @path = File.join(REDIS.directory, name)
    @killed = { brood: Set.new, ruby: Set.new }
    @ruby_pids = Set.new
  end

  def teardown
    @ruby&.stop
    @brood&.stop
    @ledger&.close
  end

  def test_brood_performs_the_jobs_of_rails
    push_jobs(JOBS)
    start_brood
    9.times { |round| at_share(round + 1, 10) { kill_of_brood(round) } }
    wait_for_the_end
    assert_empty lost
    every_job_is_accounted_for
  end

  # What Ruby's Sidekiq alone does, for comparison: a fifth of the jobs is enough.
  def test_ruby_performs_the_jobs_of_rails
    push_jobs(JOBS / 5)
    start_ruby
    3.times { |round| at_share(round + 1, 4) { kill_ruby } }
    wait_for_the_end
    every_job_is_accounted_for
    assert_empty begun.select { |_, pids| pids.size > 1 }
  end

  def test_both_perform_the_jobs_of_rails
    push_jobs(JOBS)
    start_brood
    start_ruby
    9.times { |round| at_share(round + 1, 10) { round % 3 == 2 ? kill_ruby : kill_of_brood(round) } }
    wait_for_the_end
    every_job_is_accounted_for
    performers = lines("D").map { |_, pid| pid }.to_set
    assert performers.intersect?(@ruby_pids), "Ruby took no part"
    refute_empty performers - @ruby_pids, "brood took no part"
  end

  private

  def push_jobs(count)
    @facts = {}
    count.times do |n|
      later = n % 20 == 3 ? { wait: 1 + n % 4 } : {} # some come due a few seconds later
      case n % 3
      when 0
        CropImage.set(**later).perform_later(@path, n, width: 100 + n, format: :png)
        @facts["crop-#{n}"] = "#{100 + n}png"
      when 1
        BillOrder.set(**later).perform_later(@path, Order.new(n.to_s), DUE + n)
        @facts["bill-#{n}"] = "Order@#{((DUE + n).to_r * 1000).floor}"
      when 2
        RemindBuyer.set(**later).perform_later(@path, n, n.minutes)
        @facts["remind-#{n}"] = "#{60 * n}s"
      end
    end
  end

  def start_brood = @brood = Server.new(REDIS, name: "#{name}-brood", workers: 3, queues: ["shop"], options: ["-r", LIBRARY])

  def start_ruby
    @ruby = RubySidekiq.new(REDIS, ["-q", "shop"], jobs: APPLICATION)
    @ruby_pids << @ruby.pid.to_s
    eventually("Ruby's heartbeat") do
      @ruby.running? or flunk "Ruby's Sidekiq ended:\n#{@ruby.log}"
      Sidekiq::ProcessSet.new.any? { |process| process["pid"] == @ruby.pid }
    end
  end

  # Kills a worker; each third time the supervisor, whose workers end what they perform, settle it and exit; each sixth time the
  # workers with it.
  def kill_of_brood(round)
    workers = children_of(@brood.pid).select { |pid| File.read("/proc/#{pid}/cmdline").start_with?("brood: worker") rescue nil }
    return kill_worker(workers.sample) unless round % 3 == 1
    @brood.signal("KILL")
    workers.each { |pid| kill_worker(pid) } if round % 6 == 4
    @brood.wait_exit
    start_brood
  end

  def kill_worker(pid)
    return unless pid
    @killed[:brood] << pid
    Process.kill("KILL", pid.to_i)
  rescue Errno::ESRCH # it had ended
  end

  def kill_ruby
    @killed[:ruby] << @ruby.pid.to_s
    @ruby.signal("KILL")
    @ruby.wait_exit
    start_ruby
  end

  def children_of(pid) = Dir.glob("/proc/#{pid}/task/*/children").flat_map { |path| File.read(path).split }

  # Calls the block once so many of the jobs have ended.
  def at_share(part, of)
    eventually("#{part} of #{of} parts have ended", 60) { count_ended >= @facts.size * part / of }
    yield
  end

  # Reads only what is new in the ledger.
  def count_ended = @ended = @ended.to_i + (@ledger ||= File.open(@path, "a+")).read.scan(/^D /).size

  # The lines of the ledger that begin with that letter, without it.
  def lines(letter)
    return [] unless File.exist?(@path)
    File.foreach(@path, chomp: true).filter_map { |line| line.split.drop(1) if line.start_with?("#{letter} ") }
  end

  # Which processes began a job, in order.
  def begun = lines("S").group_by(&:first).transform_values { |lines| lines.map(&:last) }
  def lost = @facts.keys - lines("D").map(&:first)

  def in_flight = REDIS.command("KEYS", "brood:inflight:*:*").select { |key| REDIS.command("TYPE", key) == "list" }

  def rest
    { queue: Sidekiq::Queue.new("shop").size, scheduled: Sidekiq::ScheduledSet.new.size, retry: Sidekiq::RetrySet.new.size, in_flight: in_flight.size }
  end

  # Brings retries forward, until neither Redis nor a process holds a job.
  def wait_for_the_end
    eventually("the end of all jobs", 120) do
      Sidekiq::RetrySet.new.retry_all
      rest.values.sum.zero?
    end
    @ruby&.stop # gives back what it has fetched, or ends it
    @ruby = start_ruby if @ruby && @brood.nil? && rest.values.sum.positive?
    eventually("the end of the last jobs", 60) { rest.values.sum.zero? }
  end

  def every_job_is_accounted_for
    began = begun
    wrong = lines("D").reject { |id, _, facts| @facts[id] == facts }
    assert_empty wrong, "not what was pushed"
    unexplained = began.select { |_, pids| pids[0..-2].any? { |pid| !@killed[:brood].include?(pid) } }
    assert_empty unexplained, "begun again though the worker before was not killed"
    mysterious = lost.reject { |id| began[id].nil? || @killed[:ruby].include?(began[id].last) }
    assert_empty mysterious, "lost by a process that was not killed, or by brood"
    assert_operator lost.size, :<=, @killed[:ruby].size * THREADS, "lost: #{lost}"
    assert_equal 0, Sidekiq::DeadSet.new.size
  end
end
