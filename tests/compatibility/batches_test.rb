# Batches that Ruby pushes, performed by brood, by Ruby, and by both: packaging/ruby/brood_batch.rb.
require_relative "support"
require_relative "ruby_jobs"
require_relative "../../packaging/ruby/brood_batch"
require_relative "../../packaging/ruby/brood_unique_jobs"
require "set"

Brood::Batch.install
BroodUniqueJobs.enable # the other way round in Ruby's process

class Known
  include JOB
  sidekiq_options queue: "elsewhere", retry: 3, tags: ["tag"]
end

class BatchesTest < CompatibilityTest
  start workers: 2, queues: %w[default both]

  def setup
    only_brood
    redis.command("DEL", "queue:elsewhere", "queue:default", "queue:both", "queue:ruby", "schedule", "retry", "dead")
    @ledger = Ledger.new(redis, "ledger #{name}")
  end

  def ruby_sidekiq
    @@ruby ||= RubySidekiq.new(redis, ["-q", "ruby", "-q", "both"], jobs: File.join(__dir__, "batch_ruby_jobs.rb")).tap do |ruby|
      Minitest.after_run do
        puts ruby.log.lines.last(60) if ENV["COMPATIBILITY_LOG"]
        ruby.stop
      end
    end
  end

  def key(batch) = "brood:batch:#{batch.is_a?(String) ? batch : batch.bid}"
  def field(batch, name) = redis.command("HGET", key(batch), name)
  def counts(batch) = %w[total succeeded failing dead].map { |name| field(batch, name).to_i }
  def fired?(batch, event) = !field(batch, "fired:#{event}").nil?
  def events(batch) = Brood::Batch::EVENTS.select { |event| fired?(batch, event) }
  def waiting(queue) = Sidekiq::Queue.new(queue)
  def jids(set) = { "dead" => Sidekiq::DeadSet, "retry" => Sidekiq::RetrySet }.fetch(set).new.map(&:jid)

  def shown(batch) = JSON.parse(brood(redis, "batches", "show", batch.is_a?(String) ? batch : batch.bid, "--json"))

  # A batch whose callbacks write their event into the ledger.
  def batch(queue: "ruby", events: Brood::Batch::EVENTS, **options)
    Brood::Batch.new(**options).tap do |made|
      events.each { |event| made.on(event, "Ledger", @ledger.path, "#{event}!", queue: queue) }
    end
  end

  def push(queue, id, ms = 0) = Ledger.set(queue: queue).perform_async(@ledger.path, id, ms)
  def callbacks = @ledger.done.select { |id| id.end_with?("!") }

  def closed(batch, event = "finished") = eventually("#{event} of #{batch.bid} is closed: #{redis.command("HGETALL", key(batch))}") { field(batch, "closed:#{event}") }

  # -- Who performs the jobs.

  def fifty_performed_in(queue)
    ruby_sidekiq
    made = batch(queue: queue, description: "fifty")
    made.jobs do
      25.times { |n| push(queue, "single-#{n}", 20) }
      Sidekiq::Client.push_bulk("class" => "Ledger", "queue" => queue, "args" => Array.new(25) { |n| [@ledger.path, "bulk-#{n}", 20] })
    end
    %w[complete success finished].each { |event| closed(made, event) }
    assert_equal [50, 50, 0, 0], counts(made)
    assert_equal 50, (@ledger.done - callbacks).uniq.size
    assert_equal %w[complete! finished! success!], callbacks.sort
  end

  def test_brood_performs_a_batch_of_ruby
    fifty_performed_in("default")
    refute_includes @ledger.writers, ruby_sidekiq.pid.to_s
  end

  def test_ruby_performs_a_batch_of_ruby
    fifty_performed_in("ruby")
    assert_equal [ruby_sidekiq.pid.to_s], @ledger.writers
  end

  def test_both_perform_a_batch_of_ruby
    fifty_performed_in("both")
    assert_includes @ledger.writers, ruby_sidekiq.pid.to_s
    assert_operator @ledger.writers.size, :>, 1
  end

  def test_either_side_may_perform_the_callbacks
    ruby_sidekiq
    { "default" => "ruby", "ruby" => "default" }.each do |of_jobs, of_callbacks|
      made = batch(queue: of_callbacks)
      made.jobs { push(of_jobs, "job") }
      %w[complete success finished].each { |event| closed(made, event) }
      assert_equal [1, 1, 0, 0], counts(made)
    end
    assert_equal %w[complete! complete! finished! finished! success! success!], callbacks.sort
  end

  # -- What is pushed.

  def test_what_a_payload_says
    made = Brood::Batch.new
    assert_match Brood::Batch::BID, made.bid
    made.jobs do
      Known.perform_async(1)
      Known.perform_in(1000, 2)
      Known.perform_bulk([[3], [4]])
      Sidekiq::Client.push("class" => "Any", "queue" => "elsewhere", "args" => [5], "bid" => "of Sidekiq Pro")
    end
    Known.perform_async(6)
    texts = redis.command("LRANGE", "queue:elsewhere", "0", "-1").reverse
    assert_equal [[1], [3], [4], [5], [6]], texts.map { |text| JSON.parse(text)["args"] }
    assert_equal [0, 2, 3, nil, nil], texts.map { |text| JSON.parse(text)["batch_index"] }
    assert_includes texts.first, %("bid":"#{made.bid}","batch_index":0})
    assert_equal [made.bid] * 3 + ["of Sidekiq Pro", nil], texts.map { |text| JSON.parse(text)["bid"] }
    ordinary = JSON.parse(texts.last).keys
    assert_equal ordinary.sort, (JSON.parse(texts.first).keys - %w[bid batch_index]).sort
    assert_equal JSON.parse(texts.last)["enqueued_at"].class, JSON.parse(texts.first)["enqueued_at"].class
    later = Sidekiq::ScheduledSet.new.first
    assert_equal [[2], made.bid, 1, nil, nil], [later.args, *%w[bid batch_index enqueued_at at].map { |name| later[name] }]
    assert_in_delta Time.now.to_f + 1000, later.score, 100
    assert_equal [4, 0, 0, 0], counts(made)
    assert_includes redis.command("SMEMBERS", "queues"), "elsewhere"
  end

  def test_a_big_bulk_goes_slice_by_slice
    made = Brood::Batch.new
    jids = nil
    made.jobs { jids = Sidekiq::Client.push_bulk("class" => "Any", "queue" => "elsewhere", "args" => Array.new(2500) { |n| [n, "x" * 1000] }) }
    assert_equal [2500, 0, 0, 0], counts(made)
    assert jids == waiting("elsewhere").map(&:jid).reverse, "the jids are those of the queue"
    assert_equal [*0...2500], waiting("elsewhere").map { |job| job["batch_index"] }.reverse
  end

  def test_what_a_callback_says
    made = Brood::Batch.new
    made.on(:success, "Known", 7, { "a" => 1 })
    made.on("success", Known, queue: "urgent", retry: false)
    made.on(:success, "Cpp::Job", [1])
    made.jobs {}
    value = field(made, "on:success:1").split(" ", 4)
    job = JSON.parse("#{value.last}}")
    assert_equal ["elsewhere", SIDEKIQ < 8 ? "s" : "ms", job["jid"]], value.first(3)
    assert_equal ["Known", [7, { "a" => 1 }], 3, ["tag"], made.bid, "success"], job.values_at("class", "args", "retry", "tags", "cbid", "batch_callback")
    refute job.key?("enqueued_at")
    pushed = [*waiting("elsewhere"), *waiting("urgent"), *waiting("default")].find { |one| one.jid == job["jid"] }
    assert_equal job.keys + ["enqueued_at"], pushed.item.keys
    known = Known.perform_async && waiting("elsewhere").first
    assert_equal known["enqueued_at"].class, pushed["enqueued_at"].class
    assert_in_delta known["enqueued_at"], pushed["enqueued_at"], SIDEKIQ < 8 ? 60 : 60_000
    assert_equal ["urgent", false], JSON.parse("#{field(made, "on:success:2").split(" ", 4).last}}").values_at("queue", "retry")
    assert_equal ["default", true], JSON.parse("#{field(made, "on:success:3").split(" ", 4).last}}").values_at("queue", "retry")
  ensure
    redis.command("DEL", "queue:urgent")
  end

  def test_what_is_refused
    made = Brood::Batch.new
    assert_raises(ArgumentError) { made.on(:failure, "Known") }
    assert_raises(ArgumentError) { made.on(:success, "Known", at: Time.now.to_f) }
    assert_raises(ArgumentError) { made.on(:success, "Known", "a" => 1) }
    assert_raises(ArgumentError) { made.on(:success, "Known", queue: "a b") }
    assert_raises(ArgumentError) { made.on(:success, "Known", unique_for: 60) }
    assert_raises(ArgumentError) { Brood::Batch.new(parent: "a b") }
    assert_raises(ArgumentError) { Brood::Batch.new(description: "x" * 1001) }
    made.jobs {}
    assert_raises(RuntimeError) { made.on(:success, "Known") }
    assert_raises(Brood::Batch::Closed) { made.jobs {} } # without jobs it has ended
    assert_raises(Brood::Batch::Closed) { Brood::Batch.new(parent: "nowhere").jobs {} }
    assert_nil Brood::Batch.current
  end

  def test_a_middleware_that_stops_a_push_leaves_nothing_in_the_batch
    stopper = Class.new do
      def call(_class, job, _queue, _pool) = job["args"] == ["raise"] ? raise("stopped") : job["args"] == ["stop"] ? nil : yield
    end
    chain = SIDEKIQ < 7 ? Sidekiq.client_middleware : Sidekiq.default_configuration.client_middleware
    chain.add(stopper)
    made = batch(queue: "elsewhere")
    made.jobs do
      assert_nil Known.perform_async("stop")
      assert_raises(RuntimeError) { Known.perform_async("raise") }
      assert Known.perform_async("go")
      assert_equal 1, Known.perform_bulk([["stop"], ["on"]]).compact.size
    end
    assert_equal [2, 0, 0, 0], counts(made)
  ensure
    chain.remove(stopper)
  end

  def test_a_unique_job_is_in_the_batch_once
    made = batch(queue: "elsewhere")
    options = { "class" => "Any", "queue" => "elsewhere", "unique_until" => "done" }
    made.jobs do
      assert Sidekiq::Client.push(options.merge("args" => [1]))
      assert_nil Sidekiq::Client.push(options.merge("args" => [1]))
      assert_equal 1, Sidekiq::Client.push_bulk(options.merge("args" => [[1], [2]])).compact.size
      refused = assert_raises(ArgumentError) { Sidekiq::Client.push(options.merge("args" => [3], "on_conflict" => "replace")) }
      assert_includes refused.message, "replace"
    end
    assert_equal [2, 0, 0, 0], counts(made)
    jobs = waiting("elsewhere").to_a
    assert_equal [[[2], 1], [[1], 0]], jobs.map { |job| [job.args, job["batch_index"]] }
    assert_equal jobs.map(&:jid), jobs.map { |job| redis.command("GET", "brood:unique:#{job["unique_lock"]}") }
    assert_empty jobs.flat_map { |job| job.item.keys.grep(/brood/) }
    redis.command("DEL", *redis.command("KEYS", "brood:unique:*"))
  end

  def test_a_unique_job_that_another_replaces_is_counted_as_skipped
    made = batch(queue: "elsewhere", events: [])
    options = { "class" => "Any", "queue" => "elsewhere", "unique_until" => "done", "unique_by" => [1] }
    made.jobs { Sidekiq::Client.push(options.merge("args" => [1])) }
    assert Sidekiq::Client.push(options.merge("args" => [2], "on_conflict" => "replace"))
    assert_equal [[[2]], [1, 1, 0, 0]], [waiting("elsewhere").map(&:args), counts(made)]
  ensure
    redis.command("DEL", *redis.command("KEYS", "brood:unique:*"))
  end

  def test_a_job_that_was_pushed_before_stays_in_its_batch
    first = Brood::Batch.new
    first.jobs { Known.perform_in(1000, 1) }
    second = Brood::Batch.new
    second.jobs { Sidekiq::ScheduledSet.new.first.add_to_queue }
    assert_equal [first.bid, 0], waiting("elsewhere").first.item.values_at("bid", "batch_index")
    assert_equal [1, 0], [counts(first).first, counts(second).first]
  end

  # The transactional client asks whether it must push at once.
  def test_the_thread_says_that_it_pushes_a_batch
    outer, inner = Brood::Batch.new, Brood::Batch.new
    outer.jobs do
      assert Thread.current[:sidekiq_batch]
      inner.jobs { Known.perform_async(1) }
      Known.perform_async(2)
      Thread.new { Known.perform_async(3) }.join
    end
    refute Thread.current[:sidekiq_batch]
    assert_equal [outer.bid, inner.bid, nil].to_set, waiting("elsewhere").map { |job| job["bid"] }.to_set
    assert_equal [1, 1], [counts(outer).first, counts(inner).first]
  end

  # -- Events.

  def test_no_callback_is_pushed_before_the_block_has_returned
    made = batch(queue: "default")
    made.jobs do
      push("default", "job")
      eventually("it is counted") { counts(made) == [1, 1, 0, 0] }
      assert_empty events(made)
      made.jobs { push("default", "another") } # inside of it
      eventually("it is counted") { counts(made) == [2, 2, 0, 0] }
      assert_empty events(made)
    end
    assert_equal %w[complete success finished], events(made)
    closed(made)
  end

  def test_a_failing_batch_is_complete_and_finishes_when_its_job_succeeds
    ruby_sidekiq
    file = File.join(redis.directory, "there")
    made = batch
    made.jobs { 2.times { |n| Sidekiq::Client.push("class" => "Ending", "queue" => "ruby", "args" => [n == 0 ? "well" : "well if #{file}"]) } }
    eventually("it is complete") { events(made) == %w[complete] }
    assert_equal [2, 1, 1, 0], counts(made)
    File.write(file, "")
    %w[complete success finished].each { |event| closed(made, event) }
    assert_equal [2, 2, 0, 0], counts(made)
    assert_equal %w[complete! finished! success!], callbacks.sort
  end

  def test_a_dead_job_that_is_retried_heals_its_batch
    ruby_sidekiq
    file = File.join(redis.directory, "healed")
    { "ruby" => ["Ending", "well if #{file}"], "default" => ["FailOnce", "#{file} by brood"] }.each do |queue, (job_class, argument)|
      made = batch(queue: queue)
      jid = nil
      made.jobs { jid = Sidekiq::Client.push("class" => job_class, "queue" => queue, "retry" => 0, "args" => [argument]) }
      closed(made)
      assert_equal [[1, 0, 0, 1], %w[complete death finished]], [counts(made), events(made)]
      assert_equal [jid], jids("dead")
      File.write(file, "")
      Sidekiq::DeadSet.new.each(&:retry)
      closed(made, "success")
      assert_equal [1, 1, 0, 0], counts(made)
    end
    eventually("all callbacks have ended") { callbacks.sort == %w[complete! death! finished! success!].flat_map { |event| [event, event] } }
  end

  def test_every_end_in_ruby_is_counted
    ruby_sidekiq
    ends = { ["fail", false] => "dead", ["fail", 0] => "dead", ["discard at last", 0] => "dead" }
    ends[["discard", true]] = "dead" if SIDEKIQ >= 7
    ends.each_key do |how, tries|
      made = batch
      made.jobs { Sidekiq::Client.push("class" => "Ending", "queue" => "ruby", "retry" => tries, "args" => [how]) }
      closed(made)
      assert_equal [[1, 0, 0, 1], %w[complete death finished]], [counts(made), events(made)], "#{how} #{tries}"
    end
    made = batch
    made.jobs { Sidekiq::Client.push("class" => "Nowhere", "queue" => "ruby", "args" => []) }
    eventually("an unknown class fails") { counts(made) == [1, 0, 1, 0] }
    made = batch
    made.jobs { Sidekiq::Client.push("class" => "Nowhere", "queue" => "ruby", "retry" => 0, "args" => []) }
    closed(made)
    assert_equal [1, 0, 0, 1], counts(made)
  end

  def test_a_callback_that_is_dead_has_ended_except_for_success
    ruby_sidekiq
    file = File.join(redis.directory, "callback heals")
    made = Brood::Batch.new
    parent = Brood::Batch.new
    parent.jobs do
      made = Brood::Batch.new(parent: parent.bid)
      %i[success complete].each { |event| made.on(event, "Ending", "well if #{file}", queue: "ruby", retry: 0) }
      made.jobs { push("default", "job") }
    end
    closed(made, "complete")
    eventually("both are dead") { jids("dead").size == 2 }
    assert_nil field(made, "closed:success")
    assert_equal %w[complete finished], events(parent)
    File.write(file, "")
    Sidekiq::DeadSet.new.each(&:retry)
    closed(made, "success")
    assert fired?(parent, "success")
  end

  def test_what_is_deleted_or_killed_through_the_api_is_dead
    made = Brood::Batch.new
    made.jobs { 4.times { |n| n < 2 ? Known.perform_async(n) : Known.perform_in(1000, n) } }
    waiting("elsewhere").first.delete
    assert_equal [4, 0, 0, 1], counts(made)
    Sidekiq::ScheduledSet.new.first.delete
    assert_equal [4, 0, 0, 2], counts(made)
    Sidekiq::ScheduledSet.new.first.kill
    assert_equal [4, 0, 0, 3], counts(made)
    Sidekiq::DeadSet.new.kill(redis.command("RPOP", "queue:elsewhere"), notify_failure: false)
    assert_equal [4, 0, 0, 4], counts(made)
    assert_operator redis.command("TTL", key(made)), :>, 170 * 86_400 # as long as dead jobs are kept
  end

  # -- Jobs that push.

  def test_a_job_adds_jobs_to_its_own_batch
    ruby_sidekiq
    made = batch
    made.jobs { Sidekiq::Client.push("class" => "Adding", "queue" => "ruby", "args" => [@ledger.path]) }
    closed(made)
    closed(made, "success")
    assert_equal [3, 3, 0, 0], counts(made)
    assert_equal "#{made.bid} #{made.bid}", redis.command("GET", "adding")
    assert_equal ["added-0", "added-1"], (@ledger.done - callbacks).sort
  end

  def test_a_parent_waits_for_the_callbacks_of_its_child
    ruby_sidekiq
    made = batch
    made.jobs { Sidekiq::Client.push("class" => "Nesting", "queue" => "ruby", "args" => [@ledger.path]) }
    closed(made, "success")
    child = redis.command("GET", "child")
    assert_equal [made.bid, made.bid], %w[parent opened_in].map { |name| field(child, name) }
    assert_equal [child], redis.command("SMEMBERS", "#{key(made)}:children")
    assert_operator @ledger.done.index("child"), :<, @ledger.done.index("success!")
    assert_equal [1, 1, 0, 0], counts(made)
  end

  def test_a_job_that_is_pushed_again_while_it_runs_has_not_ended
    ruby_sidekiq
    file = File.join(redis.directory, "interrupted")
    made = batch
    made.jobs { Sidekiq::Client.push("class" => "Interrupting", "queue" => "ruby", "args" => [file]) }
    eventually("it waits again") { File.exist?(file) && Sidekiq::ScheduledSet.new.size == 1 }
    assert_equal [made.bid, 0], Sidekiq::ScheduledSet.new.first.item.values_at("bid", "batch_index")
    assert_equal [[1, 0, 0, 0], []], [counts(made), events(made)]
    closed(made, "success")
    assert_equal [1, 1, 0, 0], counts(made)
  end

  def test_a_job_whose_process_stops_has_not_ended
    file = File.join(redis.directory, "stopped")
    made = batch(queue: "default")
    made.jobs { Sidekiq::Client.push("class" => "Stopped", "queue" => "stopped", "args" => [file]) }
    counts_while = lambda do |&wait|
      ruby = RubySidekiq.new(redis, ["-q", "stopped"], jobs: File.join(__dir__, "batch_ruby_jobs.rb"))
      wait.call
      counts(made)
    ensure
      ruby.stop
    end
    assert_equal([1, 0, 0, 0], counts_while.call { eventually("it runs") { File.exist?(file) } })
    assert_equal [[1, 0, 0, 0], [], 1], [counts(made), events(made), waiting("stopped").size]
    assert_equal([1, 1, 0, 0], counts_while.call { closed(made, "success") })
  end

  def test_an_active_job_that_is_enqueued_again_goes_on_in_its_place
    ruby_sidekiq
    made = batch
    made.jobs do
      Sidekiq::Client.push("class" => "Wrapper", "wrapped" => "Report", "queue" => "ruby",
                           "args" => [{ "job_class" => "Report", "job_id" => "a", "arguments" => [], "executions" => 0, "exception_executions" => {} }])
    end
    eventually("it fails") { counts(made) == [1, 0, 1, 0] }
    assert_equal %w[complete], events(made)
    closed(made, "success")
    assert_equal [1, 1, 0, 0], counts(made)
  end

  def test_an_iterable_job_that_is_interrupted_goes_on
    skip "this Sidekiq has no iterable jobs" unless defined?(Sidekiq::IterableJob)
    ruby_sidekiq
    made = batch
    made.jobs { Sidekiq::Client.push("class" => "Iterating", "queue" => "ruby", "args" => [@ledger.path]) }
    %w[complete success finished].each { |event| closed(made, event) }
    assert_operator redis.command("GET", "interrupts").to_i, :>, 1
    assert_equal [1, 1, 0, 0], counts(made)
    assert_equal %w[complete! finished! success!], callbacks.sort
  end

  # -- Cancelled batches.

  def test_jobs_of_a_cancelled_batch_are_skipped
    ruby_sidekiq
    %w[ruby default].each do |queue|
      made = batch(queue: queue)
      made.jobs { 3.times { |n| Ledger.set(queue: queue).perform_in(1, @ledger.path, "#{queue}-#{n}") } }
      made.cancel
      assert made.cancelled?
      assert_raises(Brood::Batch::Closed) { made.jobs { flunk } }
      closed(made)
      assert_equal [[3, 3, 0, 0], %w[finished]], [counts(made), events(made)]
    end
    assert_equal %w[finished! finished!], @ledger.done
  end

  def test_a_block_that_raises_cancels_its_batch
    made = batch(queue: "default")
    error = assert_raises(RuntimeError) do
      made.jobs do
        Known.perform_async(1)
        raise "no"
      end
    end
    assert_equal "no", error.message
    refute Thread.current[:brood_batch_push]
    assert made.cancelled?
    assert_equal [1, 0, 0, 0], counts(made)
    assert_empty events(made)
    waiting("elsewhere").first.delete
    closed(made)
    assert_equal %w[finished], events(made)
  end

  def test_a_block_that_is_left_cancels_its_batch
    made = Brood::Batch.new
    made.jobs { break }
    assert made.cancelled?
    made = Brood::Batch.new
    catch(:out) { made.jobs { throw :out } }
    assert made.cancelled?
    made = Brood::Batch.new
    made.jobs { next }
    refute made.cancelled?
  end

  def test_a_batch_that_is_cancelled_meanwhile_takes_no_more_jobs
    made = Brood::Batch.new
    made.jobs do
      Known.perform_async(1)
      made.cancel
      assert_raises(Brood::Batch::Closed) { Known.perform_async(2) }
      Sidekiq::Client.push("class" => "Any", "queue" => "elsewhere", "args" => [], "bid" => "other")
      raise "left"
    end
  rescue RuntimeError
    assert_equal [1, 2], [counts(made).first, waiting("elsewhere").size]
  end

  def test_a_killed_process_leaves_its_batch_open
    program = <<~RUBY
      require #{File.expand_path("../../packaging/ruby/brood_batch", __dir__).inspect}
      Sidekiq.logger.level = Logger::ERROR
      Brood::Batch.install
      batch = Brood::Batch.new(description: "killed")
      batch.on(:complete, "Ledger", #{@ledger.path.inspect}, "complete!")
      File.write(#{File.join(redis.directory, "bid").inspect}, batch.bid)
      batch.jobs { loop { Sidekiq::Client.push("class" => "Ledger", "args" => [#{@ledger.path.inspect}, "job"]) } }
    RUBY
    child = Child.new(File.join(redis.directory, "killed.log"), { "REDIS_URL" => redis.url }, RbConfig.ruby, "-e", program)
    bid = eventually("it pushes: #{child.log}") do
      bid = File.read(File.join(redis.directory, "bid")) if File.exist?(File.join(redis.directory, "bid"))
      bid if bid && field(bid, "total").to_i > 50
    end
    child.signal("KILL")
    child.wait_exit
    eventually("all that is counted was pushed, and performed") { counts(bid).then { |total, succeeded| total == succeeded } }
    assert_equal ["1", []], [field(bid, "open"), events(bid)]
    assert_equal ["job"], @ledger.done.uniq
    assert_equal "open", shown(bid)["state"]
    assert_includes brood(redis, "batches", "check", bid, may_end: [0, 1]), "whose process is gone"
    assert_equal ["cancelled", %w[finished]], [shown(bid)["state"], events(bid)]
  end

  def test_a_check_counts_what_a_killed_process_has_lost
    file = File.join(redis.directory, "lost")
    made = batch(queue: "default")
    made.jobs { Sidekiq::Client.push("class" => "Stopped", "queue" => "stopped", "args" => [file]) }
    ruby = RubySidekiq.new(redis, ["-q", "stopped"], jobs: File.join(__dir__, "batch_ruby_jobs.rb"))
    eventually("it runs") { File.exist?(file) }
    identity = eventually("its heartbeat") { Sidekiq::ProcessSet.new.find { |process| process["pid"] == ruby.pid }&.identity }
    ruby.signal("KILL")
    ruby.wait_exit
    assert_equal ["running", 1], shown(made).values_at("state", "pending")
    redis.command("DEL", identity, "#{identity}:work", "#{identity}:workers") # as Redis does a minute later
    brood(redis, "batches", "check", made.bid, may_end: [0, 1])
    closed(made)
    assert_equal ["finished", 1, 0, 1], shown(made).values_at("state", "total", "pending", "dead")
  end

  # -- The scripts, and where they run.

  def test_the_scripts_are_those_of_brood
    brood_has = File.read(File.join(BUILD, "shared/scripts.cpp")).scan(/const Script (\w+)\{"\w+", R"lua\(.*?\)lua",\s+"(\h+)"/m).to_h
    scripts = Brood::Batch.constants.map { |name| Brood::Batch.const_get(name) }.grep(Brood::Batch::Script)
    assert_equal 6, scripts.size
    scripts.each { |script| assert_equal brood_has.fetch(script.name), script.digest, script.name }
  end

  def test_every_script_is_installed_beside_the_file
    Dir.mktmpdir do |directory|
      install = Open3.capture2e("cmake", "-D", "CMAKE_INSTALL_PREFIX=#{directory}", "-D", "CMAKE_INSTALL_COMPONENT=Unspecified", "-P", File.join(BUILD, "packaging/cmake_install.cmake"))
      file = File.join(directory, "share/brood/ruby/brood_batch.rb")
      assert File.exist?(file), install.first
      output, status = Open3.capture2e(RbConfig.ruby, "-r", file, "-e", "puts Brood::Batch::Script::FOLDER, Brood::Batch::OPEN.digest")
      assert_equal [true, "#{directory}/share/brood/ruby/batches\n#{Brood::Batch::OPEN.digest}\n"], [status.success?, output]
    end
  end

  def test_a_redis_that_forgot_the_scripts_gets_them_again
    redis.command("SCRIPT", "FLUSH")
    made = Brood::Batch.new
    made.jobs { Known.perform_async(1) }
    assert_equal [1, 0, 0, 0], counts(made)
  end

  def test_who_pushes_needs_only_the_rights_of_a_client
    rights = File.readlines(File.expand_path("../../etc/redis-users.acl", __dir__)).find { |line| line.start_with?("user brood-client ") }
    redis.command("ACL", "SETUSER", "client", *rights.split.drop(2).map { |right| right.sub(">PASSWORD", ">secret") })
    program = <<~RUBY
      require #{File.expand_path("../../packaging/ruby/brood_batch", __dir__).inspect}
      Sidekiq.logger.level = Logger::ERROR
      Brood::Batch.install
      connect = { url: ENV["REDIS_URL"], username: "client", password: "secret" }
      Sidekiq.configure_client { |config| config.redis = connect }
      batch = Brood::Batch.new
      batch.on(:success, "Ledger", 1)
      batch.jobs { Sidekiq::Client.push("class" => "Any", "queue" => "elsewhere", "args" => []) }
      batch.jobs { Sidekiq::Client.push("class" => "Any", "queue" => "elsewhere", "args" => []) }
      batch.cancel
      puts batch.bid
    RUBY
    output, errors, status = Open3.capture3({ "REDIS_URL" => redis.url }, RbConfig.ruby, "-e", program)
    assert status.success?, errors
    assert_equal [2, 0, 0, 0], counts(output.strip)
  end

  def test_sidekiqs_testing_modes_need_no_redis
    program = <<~RUBY
      require "sidekiq"
      require "sidekiq/testing"
      require #{File.expand_path("../../packaging/ruby/brood_batch", __dir__).inspect}
      Brood::Batch.install
      Sidekiq.logger.level = Logger::ERROR
      class Any
        include(defined?(Sidekiq::Job) ? Sidekiq::Job : Sidekiq::Worker)
        def perform(number) = puts(number)
      end
      batch = Brood::Batch.new
      batch.on(:success, "Any", 2)
      batch.jobs { Any.perform_async(1) }
      Sidekiq::Testing.inline! { Brood::Batch.new.jobs { Any.perform_async(3) } }
      Any.drain
    RUBY
    output, errors, status = Open3.capture3({ "REDIS_URL" => "unix:///nowhere" }, RbConfig.ruby, "-e", program)
    assert status.success?, errors
    assert_equal "3\n1\n", output
  end
end
