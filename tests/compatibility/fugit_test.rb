# brood and fugit, the library of sidekiq-cron, read rules alike: for each rule the next tick is the same.
require_relative "support"
require "timeout"
begin
  require "fugit"
rescue LoadError
  warn "Skipped: the gem fugit is not installed"
  exit! 77
end

class FugitTest < CompatibilityTest
  RULES = ["* * * * *", "*/7 * * * *", "0 0 */2 * 1", "0 0 13 * 5", "0 0 1-31 * 1", "0 0 1 * 0-6", "0 0 * * mon#2", "0 0 * * fri#-1", "0 0 * * 5#L",
           "0 0 * * mon#1,fri#L", "0 0 L * *", "0 0 -2 * *", "0 0 -3--1 * *", "0 0 last 2 *", "0 0 1,15 * wed", "0 22-2 * * *", "0 0 * * fri-mon",
           "30 5 28-3 * *", "0 24 * * *", "/20 * * * *", "0 */27 * * *", "0 0 * * 1/2", "0 0 * * */3", "0 0 * * *,1", "0 9 * * * Europe/Berlin",
           "0 9 * * * UTC", "0 9 * * * GMT", "0 9 * * * +09:00", "0 9 * * * -03:30", "0 0 0 * * MON", "0 9 * * MON GMT", "15 10 * * * *", "@daily",
           "@noon", "@weekly", "0 0 29 2 *", "0 0 31 */2 *", "0 0 1-7 * sun", "0-30/7 3,4 * jan,dec *", "5-10,50-3 * * * *"].freeze
  SEED = Integer(ENV.fetch("FUGIT_SEED", "4711"))
  RANDOM = 100
  # Releases before 1.11, which sidekiq-cron 2 needs, read some rules in other ways.
  IS_OLD = Gem::Version.new(Fugit::VERSION) < Gem::Version.new("1.11")
  NEWER = ["0 0 1-31 * 1"].freeze

  @redis = PrivateRedis.new
  Minitest.after_run { @redis.stop }

  def number(random, least, most)
    value = -> { random.rand(least..most) }
    [-> { "*" }, -> { value.call.to_s }, -> { "*/#{random.rand(1..9)}" }, -> { "#{value.call}-#{value.call}" }, -> { "#{value.call},#{value.call}" },
     -> { "#{value.call}/#{random.rand(1..9)}" }, -> { "#{value.call}-#{value.call}/#{random.rand(1..4)}" }].sample(random: random).call
  end

  def random_rule(random)
    days = [-> { number(random, 1, 31) }, -> { "*" }, -> { %w[L -2 15,L -5--2].sample(random: random) }].sample(random: random).call
    weekdays = [-> { number(random, 0, 7) }, -> { "*" }, -> { "*" }, -> { %w[mon#2 fri#L sun#-2,1 tue-thu sat,sun].sample(random: random) }].sample(random: random).call
    zone = ["", "", " Asia/Tokyo", " UTC", " +05:30"].sample(random: random)
    "#{number(random, 0, 59)} #{number(random, 0, 23)} #{days} #{number(random, 1, 12)} #{weekdays}#{zone}"
  end

  def next_of(rule, from)
    Timeout.timeout(2) { Fugit.parse_cron(rule)&.next_time(from)&.to_i }
  rescue StandardError
    nil # fugit finds none
  end

  def test_each_rule_comes_next_when_fugit_says
    random = Random.new(SEED)
    rules = IS_OLD ? RULES - NEWER : (RULES + Array.new(RANDOM) { random_rule(random) }).uniq
    rules.each_with_index do |rule, i|
      redis.command("HSET", "cron_job:default:#{i}", "cron", rule, "status", "enabled", "klass", "Any", "args", "[]")
      redis.command("SADD", "cron_jobs:default", "cron_job:default:#{i}")
    end
    config = File.join(redis.directory, "brood.toml")
    File.write(config, "[periodic]\nsidekiq_cron = true\n")
    before = Time.now
    listed = JSON.parse(brood(redis, "periodic", "list", "--json", "-C", config)).to_h { |one| [one["name"], one] }
    after = Time.now
    compared = 0
    rules.each_with_index do |rule, i|
      expected = [before, after].map { |from| next_of(rule, from) }
      next if expected.include?(nil)
      compared += 1
      assert_includes expected.first..expected.last, listed.fetch("cron_job:default:#{i}")["next"].to_i, "#{rule} (seed #{SEED})"
    end
    assert_operator compared, :>, rules.size / 2
    assert_equal ["sidekiq-cron"], listed.values.map { |one| one["source"] }.uniq
  end
end
