# Shared parts of the compatibility tests: a private Redis, a server beside it, and waiting for facts.
#
# COMPATIBILITY_SERVER=sidekiq runs the tests against Ruby's Sidekiq instead of brood: a failure is then a mistake in
# the test, not in brood.
#
# COMPATIBILITY_PATIENCE=1 waits a quarter as long for facts, for a test that is being written.
#
# They run with the Sidekiq that Ruby finds; to try another release than Debian's, put its folders into RUBYLIB (its
# lib, and those of the redis-client and connection_pool that it needs) and its bin into PATH.
require "fileutils"
require "json"
require "minitest/autorun"
require "open3"
require "socket"
require "tmpdir"
require "sidekiq"
require "sidekiq/api"

# Redis and programs write UTF-8, also without a locale.
Encoding.default_external = Encoding::UTF_8

Redis.silence_deprecations = true if defined?(Redis) && Redis.respond_to?(:silence_deprecations=)
SIDEKIQ = Sidekiq::VERSION.to_i

BUILD = ENV.fetch("BROOD_BINARY_DIR")
BROOD = File.join(BUILD, "bin/brood")
EXAMPLES = File.join(BUILD, "worker/examples/libexamples.so")
RUBY_JOBS = File.join(__dir__, "ruby_jobs.rb")

# Polls until the block is truthy, and returns its value.  Waits several times as long on a busy machine.
def eventually(what, seconds = 30)
  seconds *= Integer(ENV.fetch("COMPATIBILITY_PATIENCE", "4"))
  deadline = Process.clock_gettime(Process::CLOCK_MONOTONIC) + seconds
  loop do
    fact = yield
    return fact if fact
    raise Minitest::Assertion, "not within #{seconds} s: #{what}" if Process.clock_gettime(Process::CLOCK_MONOTONIC) > deadline
    sleep 0.02
  end
end

# A child process that ends with this one, however that ends.
class Child
  attr_reader :pid, :log_path

  def initialize(log_path, environment, *command)
    @log_path = log_path
    @pid = spawn(environment, "setpriv", "--pdeathsig", "KILL", *command, in: "/dev/null", %i[out err] => [log_path, "a"])
  end

  def signal(name) = Process.kill(name, pid)
  def log = File.read(log_path)

  # Its exit status, once it has ended.
  def wait_exit(seconds = 30)
    return @status if @status
    _, @status = eventually("the exit of #{log_path}", seconds) { Process.wait2(pid, Process::WNOHANG) }
    @status
  end

  def running? = @status.nil? && Process.wait2(pid, Process::WNOHANG).then { |_, status| (@status = status).nil? }

  def stop
    return unless running?
    signal("TERM")
    wait_exit(15)
  rescue Minitest::Assertion
    signal("KILL")
    wait_exit
  end
end

# The server that all tests start.
def redis_program = ENV["BROOD_REDIS_SERVER"].to_s.empty? ? "redis-server" : ENV["BROOD_REDIS_SERVER"]

# A scratch directory with a Redis on a Unix socket; Sidekiq's API in this process speaks to it.
class PrivateRedis
  attr_reader :directory, :url

  def initialize
    @directory = Dir.mktmpdir("brood-ruby-")
    socket = File.join(directory, "redis.sock")
    @url = "unix://#{socket}"
    @server = Child.new(File.join(directory, "redis.log"), {}, redis_program, "--port", "0", "--unixsocket", socket,
                        "--save", "", "--appendonly", "no", "--dir", directory)
    eventually("redis answers") { UNIXSocket.new(socket).close || true rescue nil }
    SIDEKIQ < 7 ? Sidekiq.redis = { url: url, size: 3 } : Sidekiq.configure_client { |config| config.redis = { url: url, size: 3 } }
    Sidekiq.logger.level = Logger::ERROR
  end

  # A command's plain reply; an error is raised.
  def command(*words)
    @connection ||= SIDEKIQ < 7 ? Redis.new(url: url) : RedisClient.config(url: url, protocol: 2).new_client
    SIDEKIQ < 7 ? @connection.call(words) : @connection.call(*words)
  end

  def stop
    @server.stop
    FileUtils.remove_entry(directory)
  end
end

# The server under test: two workers with the example jobs.
class Server < Child
  attr_reader :environment # for every `brood` command that uses it

  # `config` is TOML, `options` are additional ones of `brood run`.
  def initialize(redis, name: "brood", workers: 2, queues: ["default"], config: "", options: [])
    directory = File.join(redis.directory, name)
    FileUtils.mkdir_p(["#{directory}/run", "#{directory}/state"])
    File.write("#{directory}/brood.toml", config)
    @environment = { "RUNTIME_DIRECTORY" => "#{directory}/run", "STATE_DIRECTORY" => "#{directory}/state",
                     "REDIS_PROVIDER" => nil, "REDIS_URL" => redis.url }
    settings = ["-c", workers.to_s, *queues.flat_map { |queue| ["-q", queue] }, "-t", "5"]
    command = if self.class.ruby?
                ["sidekiq", "-r", RUBY_JOBS, "-e", "production", *settings]
              else
                [BROOD, "run", "-C", "#{directory}/brood.toml", "--redis", redis.url, "-r", EXAMPLES, *settings, *options]
              end
    super("#{directory}/log", @environment, *command)
    eventually("a heartbeat of #{name}") { running? or flunk_with_log; identity }
  end

  def self.ruby? = ENV["COMPATIBILITY_SERVER"] == "sidekiq"

  # Its name among Sidekiq's processes.
  def identity = Sidekiq::ProcessSet.new.find { |process| process["pid"] == pid }&.identity

  def process = Sidekiq::ProcessSet.new.find { |process| process["pid"] == pid }

  private

  def flunk_with_log = raise(Minitest::Assertion, "the server ended:\n#{log}")
end

# Ruby's own Sidekiq, for jobs that brood enqueues.
class RubySidekiq < Child
  def initialize(redis, queues, jobs: RUBY_JOBS)
    super(File.join(redis.directory, "sidekiq.log"), { "REDIS_URL" => redis.url },
          "sidekiq", "-r", jobs, "-e", "production", "-c", "2", *queues, "-t", "5")
  end
end

# The ledger of the jobs: the Ledger example appends `S id ...` when it begins and `D id ...` when it ends.
class Ledger
  attr_reader :path

  def initialize(redis, name = "ledger") = @path = File.join(redis.directory, name)

  def done = lines.filter_map { |line| line[/\AD (\S+)/, 1] }
  def begun = lines.filter_map { |line| line[/\AS (\S+)/, 1] }
  def writers = lines.filter_map { |line| line[/\AD \S+ (\d+)/, 1] }.uniq

  private

  def lines = File.exist?(path) ? File.readlines(path) : []
end

Work = Struct.new(:identity, :thread, :queue, :payload, :run_at)

# The fleet's running jobs, in the same form for every Sidekiq.
def works
  Sidekiq::WorkSet.new.map do |identity, thread, work|
    queue, payload, run_at = work.respond_to?(:run_at) ? [work.queue, work.payload, work.run_at] : work.values_at("queue", "payload", "run_at")
    Work.new(identity, thread, queue, payload.is_a?(String) ? JSON.parse(payload) : payload, run_at)
  end
end

# Runs `brood ...` against that Redis and returns its standard output.  Exit statuses in `may_end` are no failure.
def brood(redis, *arguments, environment: { "REDIS_URL" => redis.url, "REDIS_PROVIDER" => nil }, may_end: [0])
  output, errors, status = Open3.capture3(environment, BROOD, *arguments)
  raise Minitest::Assertion, "brood #{arguments.join(' ')} ended with #{status}:\n#{output}#{errors}" unless may_end.include?(status.exitstatus)
  output
end

# One Redis and one server for all the tests of a file.
class CompatibilityTest < Minitest::Test
  i_suck_and_my_tests_are_order_dependent! # they share the server, and the last may stop it

  class << self
    attr_reader :redis, :server

    def start(**options)
      @redis = PrivateRedis.new
      Minitest.after_run do
        puts server.log.lines.last(40) if server && ENV["COMPATIBILITY_LOG"]
        server&.stop
        redis.stop
      end
      @server = Server.new(redis, **options)
    end
  end

  def redis = self.class.redis
  def server = self.class.server

  def only_brood = (skip "a matter of brood alone" if Server.ruby?)
end
