# Several Redis, each a shard: Ruby's clients push into one of them, and see brood's jobs there.
require_relative "support"
require "digest"

class ShardsTest < Minitest::Test
  NAMES = %w[east west].freeze

  def setup
    @redis = NAMES.to_h { |name| [name, PrivateRedis.new] }
    @directory = Dir.mktmpdir("brood-shards-")
    @config = File.join(@directory, "brood.toml")
    File.write(@config, NAMES.map { |name| "[[redis.shard]]\nname = \"#{name}\"\nurl = \"#{@redis[name].url}\"\n" }.join)
    @pools = @redis.transform_values { |redis| Sidekiq::RedisConnection.create(url: redis.url) }
  end

  def teardown
    @redis.each_value(&:stop)
    FileUtils.remove_entry(@directory)
  end

  def brood_of_all(*arguments)
    brood(@redis["east"], *arguments, "-C", @config, environment: { "RUNTIME_DIRECTORY" => @directory, "STATE_DIRECTORY" => @directory,
                                                                    "REDIS_URL" => nil, "REDIS_PROVIDER" => nil })
  end

  def shard_of(text) = NAMES.max_by { |name| Digest::SHA1.hexdigest("#{name}:#{text}") }
  def size(name) = @redis[name].command("LLEN", "queue:default")

  def test_a_ruby_client_pushes_into_the_shard_that_it_names
    Sidekiq::Client.via(@pools["west"]) { Sidekiq::Client.push("class" => "Ledger", "args" => ["x", "one", 0]) }
    assert_equal 0, size("east")
    assert_equal 1, size("west")
    status = JSON.parse(brood_of_all("status", "--json"))
    assert_equal 1, status["enqueued"]
    assert_equal [0, 1], status["shards"].map { |shard| shard["enqueued"] }
    shown = JSON.parse(brood_of_all("queues", "show", "default", "--json"))
    assert_equal ["west"], shown.map { |job| job["shard"] }
  end

  def test_ruby_finds_the_shard_that_brood_chooses_for_a_text
    %w[tenant-1 tenant-2 tenant-3 tenant-4 tenant-5].each do |text|
      before = size(shard_of(text))
      brood_of_all("enqueue", "Ledger", "x", "one", "0", "--shard-by", text)
      assert_equal before + 1, size(shard_of(text)), text
    end
    assert_equal 5, NAMES.sum { |name| size(name) }
  end

  def test_rubys_api_sees_in_each_shard_what_brood_put_there
    brood_of_all("enqueue", "Ledger", "x", "one", "0", "--in", "1h", "--shard", "west")
    size = -> { Sidekiq::ScheduledSet.new.size }
    assert_equal [0, 1], NAMES.map { |name| in_pool(name, &size) }
  end

  # Sidekiq's own API uses the default pool, and from Sidekiq 7 on that of Client.via.  Inside this block it is the shard's.
  def in_pool(name)
    return Sidekiq::Client.via(@pools[name]) { yield } unless SIDEKIQ < 7
    Sidekiq.redis = { url: @redis[name].url, size: 2 }
    yield
  end
end
