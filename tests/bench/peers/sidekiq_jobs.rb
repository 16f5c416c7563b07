# The jobs of brood's benchmarks, for Ruby's Sidekiq: `sidekiq -r sidekiq_jobs.rb`.

module BroodBench
  class Noop
    include Sidekiq::Worker
    def perform(_number) = nil
  end

  # Appends how long ago it was pushed, in microseconds.
  class Latency
    include Sidekiq::Worker
    FILE = File.open(ENV.fetch("BENCH_LATENCIES"), "a").tap { |file| file.sync = true }
    def perform(pushed_ns)
      FILE.write("#{(Process.clock_gettime(Process::CLOCK_MONOTONIC, :nanosecond) - pushed_ns) / 1000.0}\n")
    end
  end
end

Sidekiq.configure_server do |config|
  Sidekiq.logger.level = Logger::WARN
  config.redis = { url: ENV.fetch("BENCH_REDIS") }
end
