# Ruby's pushes go by what brood's workers publish: packaging/ruby/brood_classes.rb.
require_relative "support"
require "sidekiq/scheduled"
require_relative "../../packaging/ruby/brood_classes"
require_relative "../../packaging/ruby/brood_encryption"

Brood::Classes.install

class ClassesTest < CompatibilityTest
  start workers: 1, queues: ["served"], options: ["-r", File.join(BUILD, "tests/job_libraries/libdescribed_jobs_1.so")]

  def push(job_class, args, more = {}) = Sidekiq::Client.push({ "class" => job_class, "args" => args }.merge(more))
  def only_job(queue) = Sidekiq::Queue.new(queue).first.item

  def setup
    skip "a matter of brood" if Server.ruby?
    redis.command("DEL", "queue:images", "queue:default", "queue:reports", "queue:tales", "queue:mine")
    eventually("the classes are published") { Brood::Classes.forget || Brood::Classes.options("ResizeImage") }
  end

  def test_a_push_gets_the_options_of_its_class
    assert push("ResizeImage", ["cat.png", 320])
    job = only_job("images")
    assert_equal [5, ["slow"], 3600], job.values_at("retry", "tags", "expires_in")
    push("ResizeImage", ["cat.png", 320], "queue" => "mine", "retry" => 1, "tags" => [])
    assert_equal [1, []], only_job("mine").values_at("retry", "tags")
    push("NightlyReport", [7, "monday"])
    assert_equal ["done", [7]], only_job("reports").values_at("unique_until", "unique_by")
  end

  def test_an_argument_of_a_class_that_encrypts_never_lies_in_clear
    [-> { push("Tell", ["path", "secret"]) }, -> { Sidekiq::Client.push_bulk("class" => "Tell", "args" => [["path", "secret"]]) }].each do |pushes|
      assert_match(/call BroodEncryption.install/, assert_raises(Brood::Classes::Refused, &pushes).message)
    end
    assert_equal 0, Sidekiq::Queue.new("tales").size
    key = File.join(redis.directory, "key")
    File.write(key, "k" * 32, perm: 0o400)
    BroodEncryption.install(keys: { 1 => key })
    push("Tell", ["path", "secret"])
    assert_equal true, only_job("tales")["encrypt"]
    assert_match(/\Abrood1\.1\./, only_job("tales")["args"].last)
    sealed = only_job("tales")["args"]
    Sidekiq.configure_client { |config| config.client_middleware { |chain| chain.remove(BroodEncryption::Client) } }
    redis.command("DEL", "queue:tales")
    push("Tell", sealed)
    assert_equal [true, sealed], only_job("tales").values_at("encrypt", "args")
  ensure
    Sidekiq.configure_client { |config| config.client_middleware { |chain| chain.remove(BroodEncryption::Client) } }
  end

  def test_what_the_class_would_not_take_is_refused
    assert_match(/argument 2 \(width\): expected an integer/, assert_raises(Brood::Classes::Refused) { push("ResizeImage", ["cat.png", "wide"]) }.message)
    assert_match(/takes 2 arguments/, assert_raises(Brood::Classes::Refused) { push("ResizeImage", ["cat.png"]) }.message)
    assert_equal "Note takes 1 argument (text), got 0", Brood::Classes::Arguments.problem("Note", {"required" => 1, "fields" => [{"name" => "text"}]}, [])
    error = assert_raises(Brood::Classes::Refused) { push("Tell", ["path", 4711]) }
    refute_includes error.message, "4711"
    assert_raises(Brood::Classes::Refused) { push("Tell", ["path", "x"], "encrypt" => false) }
    assert_equal 0, Sidekiq::Queue.new("images").size
  end

  def test_a_job_that_was_pushed_before_is_never_refused_and_keeps_its_options
    record = { "class" => "ResizeImage", "args" => ["cat.png", "wide"], "queue" => "mine", "jid" => "a" * 24, "created_at" => 1.5 }
    { "schedule" => record, "retry" => record.merge("retry_count" => 0), "dead" => record }.each do |set, job|
      redis.command("ZADD", set, 1, JSON.generate(job))
      set == "dead" ? Sidekiq::DeadSet.new.first.retry : run_scheduler
      eventually("#{set} is empty") { redis.command("ZCARD", set).zero? }
      assert_equal [["cat.png", "wide"], nil], only_job("mine").values_at("args", "expires_in"), set
      redis.command("DEL", "queue:mine")
    end
    assert_raises(Brood::Classes::Refused) { push("ResizeImage", ["cat.png", "wide"], "jid" => "b" * 24) }
  end

  def run_scheduler
    (SIDEKIQ < 7 ? Sidekiq::Scheduled::Enq.new : Sidekiq::Scheduled::Enq.new(Sidekiq.default_configuration)).enqueue_jobs
  end

  def test_other_classes_are_pushed_as_ever
    push("Ruby::HardWorker", [1, "x"])
    assert_equal ["default", true], only_job("default").values_at("queue", "retry")
    assert_nil Brood::Classes.options("Ruby::HardWorker")
    assert_nil Brood::Classes.check("Ruby::HardWorker", [1])
  end

  def test_an_older_build_that_encrypts_counts_and_one_that_was_seen_far_ahead_does_not
    time = redis.command("TIME").first.to_i
    told = { "new" => { "A" => { "options" => { "queue" => "mine" } } }, "old" => { "A" => { "options" => { "encrypt" => true } } },
             "ahead" => { "A" => { "options" => { "queue" => "images" } } } }
    told.each { |name, classes| redis.command("HSET", "brood:classes", name, JSON.generate("classes" => classes)) }
    { "new" => [time - 5, time], "old" => [time - 50, time], "ahead" => [time + 999, time + 999] }.each do |name, times|
      redis.command("HSET", "brood:classes:seen", name, times.join(" "))
    end
    Brood::Classes.forget
    assert_raises(Brood::Classes::Refused) { push("A", ["secret"]) }
    push("A", ["brood1.1.AAAA"])
    assert_equal true, only_job("mine")["encrypt"]
  ensure
    %w[brood:classes brood:classes:seen].each { |key| redis.command("HDEL", key, "new", "old", "ahead") }
    Brood::Classes.forget
  end

  def test_a_class_that_cannot_be_read_leaves_the_push_as_it_is
    field = { "name" => "a", "type" => "integer" }
    classes = { "A" => { "required" => 1, "fields" => [1, 2] }, "B" => { "options" => "x" }, "C" => { "required" => 1, "fields" => [field.merge("min" => "0", "max" => 7)] },
                "D" => { "options" => { "queue" => "images", "unique_by" => ["x"] } }, "E" => { "required" => [], "fields" => [field] } }
    redis.command("HSET", "brood:classes", "odd", JSON.generate("classes" => classes))
    redis.command("HSET", "brood:classes:seen", "odd", "1 #{Time.now.to_i}")
    Brood::Classes.forget
    classes.each_key do |name|
      push(name, [1])
      assert_equal [name, nil], only_job("default").values_at("class", "unique_by")
    end
    assert_equal 0, Sidekiq::Queue.new("images").size
  ensure
    redis.command("HDEL", "brood:classes:seen", "odd")
    redis.command("HDEL", "brood:classes", "odd")
  end

  def test_hostile_contents_are_ignored
    redis.command("HSET", "brood:classes", "evil", "{\"classes\":", "odd", "{\"classes\":{\"ResizeImage\":7}}")
    redis.command("HSET", "brood:classes:seen", "evil", "1 9999999999", "odd", "9999999998 9999999999", "x", "y")
    Brood::Classes.forget
    push("ResizeImage", ["cat.png", 320])
    assert_equal 1, Sidekiq::Queue.new("images").size
  ensure
    redis.command("HDEL", "brood:classes:seen", "evil", "odd", "x")
  end
end
