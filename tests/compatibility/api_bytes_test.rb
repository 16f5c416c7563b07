# The same operation, by Ruby's Sidekiq::API on one Redis and by brood's data API on another, leaves the same keys,
# members, scores, lifetimes and bytes.
require_relative "support"

class ApiBytesTest < Minitest::Test
  OPERATION = File.join(BUILD, "bin/api_operation")
  NOW = Time.now.to_f

  OURS, RUBYS = PrivateRedis.new, PrivateRedis.new # Ruby's API speaks to the last
  Minitest.after_run { [RUBYS, OURS].each(&:stop) }

  def setup
    [RUBYS, OURS].each { |redis| redis.command("FLUSHALL") }
  end

  # As Ruby's client and a failure have written it.
  def payload(jid, queue: "default", **more)
    JSON.generate({ "retry" => true, "queue" => queue, "class" => "Hard::Job", "args" => [1, 1.0, "ü/<", { "a" => [nil] }], "jid" => jid,
                    "created_at" => NOW - 50, "enqueued_at" => NOW - 40 }.merge(more.transform_keys(&:to_s)))
  end

  def both(*command) = [RUBYS, OURS].each { |redis| redis.command(*command) }

  # Everything in a Redis; the time of the operation itself becomes "now", and so does a lifetime about a minute.
  def dump(redis)
    redis.command("KEYS", "*").sort.to_h do |key|
      content = case redis.command("TYPE", key)
                when "list" then redis.command("LRANGE", key, "0", "-1").map { |text| without_now(text) }
                when "zset"
                  redis.command("ZRANGE", key, "0", "-1", "WITHSCORES").each_slice(2).map do |member, score|
                    [without_now(member), now?(score) ? "now" : score.to_f.round(3)]
                  end.sort_by(&:to_s)
                when "set" then redis.command("SMEMBERS", key).sort
                when "hash" then redis.command("HGETALL", key).each_slice(2).sort
                else redis.command("GET", key)
                end
      lifetime = redis.command("TTL", key)
      [key, [content, lifetime.between?(30, 60) ? "a minute" : lifetime]]
    end
  end

  def now?(text)
    time = text.to_f > 1e11 ? text.to_f / 1000 : text.to_f # release 8 writes milliseconds
    (time - Time.now.to_f).abs < 30
  end

  def without_now(text) = text.gsub(/"enqueued_at":([\d.]+)/) { now?($1) ? '"enqueued_at":"now"' : $& }

  def ours(*arguments)
    output, status = Open3.capture2e(OPERATION, OURS.url, *arguments.map(&:to_s))
    assert status.success?, "#{arguments}: #{output}"
  end

  # Runs the block against Ruby's Redis and the operation against ours.
  def same(*arguments)
    yield
    ours(*arguments)
    assert_equal dump(RUBYS), dump(OURS)
  end

  def fill(set, count = 3)
    count.times { |i| both("ZADD", set, (1_900_000_000.25 + i).to_s, payload("jid#{i}", queue: "q#{i % 2}", retry_count: i, error_class: "E")) }
  end

  { "retry" => Sidekiq::RetrySet, "dead" => Sidekiq::DeadSet, "schedule" => Sidekiq::ScheduledSet }.each do |name, set|
    define_method("test_one_of_#{name}_is_run") do
      fill(name)
      same("run", name, "jid1") { set.new.find_job("jid1").then { |entry| name == "schedule" ? entry.add_to_queue : entry.retry } }
    end

    define_method("test_one_of_#{name}_is_deleted") do
      fill(name)
      same("delete", name, "jid1") { set.new.find_job("jid1").delete }
    end

    define_method("test_one_of_#{name}_is_killed") do
      fill(name)
      same("kill", name, "jid2") { set.new.find_job("jid2").kill }
    end

    define_method("test_one_of_#{name}_is_rescheduled") do
      fill(name)
      same("reschedule", name, "jid0", 1_950_000_000) { set.new.find_job("jid0").reschedule(1_950_000_000) }
    end

    define_method("test_#{name}_is_cleared") do
      fill(name)
      same("clear", name) { set.new.clear }
    end
  end

  def test_of_equal_scores_one_is_run
    3.times { |i| both("ZADD", "retry", "1900000000.5", payload("same#{i}", retry_count: 0)) }
    same("run", "retry", "same1") { Sidekiq::RetrySet.new.find_job("same1").retry }
  end

  def test_a_count_of_0_or_none_is_run
    both("ZADD", "retry", "1900000000.5", payload("none"))
    same("run", "retry", "none") { Sidekiq::RetrySet.new.find_job("none").retry }
  end

  def test_all_retries_are_run
    fill("retry", 120)
    same("retry_all", "retry") { Sidekiq::RetrySet.new.sort_by(&:score).each(&:retry) }
  end

  def test_all_retries_are_killed
    fill("retry", 120)
    same("kill_all", "retry") { Sidekiq::RetrySet.new.kill_all }
  end

  def test_a_job_of_a_queue_is_deleted
    both("SADD", "queues", "default")
    5.times { |i| both("LPUSH", "queue:default", payload("jid#{i}")) }
    same("queue_delete", "default", "jid2") { Sidekiq::Queue.new("default").find_job("jid2").delete }
  end

  def test_a_queue_is_cleared
    both("SADD", "queues", "default", "other")
    both("LPUSH", "queue:default", payload("jid0"))
    same("queue_clear", "default") { Sidekiq::Queue.new("default").clear }
  end

  def test_a_process_is_asked
    both("SADD", "processes", "web:1:abc")
    both("HSET", "web:1:abc", "info", JSON.generate("identity" => "web:1:abc", "started_at" => NOW, "hostname" => "web"), "busy", "0")
    { "quiet" => :quiet!, "stop" => :stop!, "dump" => :dump_threads }.each do |operation, method|
      same(operation, "web:1:abc") { Sidekiq::Process.new("identity" => "web:1:abc").public_send(method) }
    end
  end

  def test_statistics_are_reset
    both("MSET", "stat:processed", "5", "stat:failed", "2")
    same("reset_stats", "-") { Sidekiq::Stats.new.reset }
  end
end
