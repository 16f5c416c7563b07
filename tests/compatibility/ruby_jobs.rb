# The jobs of worker/examples that the compatibility tests use, as a Ruby application would write them.
require "sidekiq"

if Sidekiq::VERSION.to_i < 7
  Sidekiq.logger.level = Logger::WARN
  Sidekiq.options[:average_scheduled_poll_interval] = 1
else
  Sidekiq.configure_server do |config|
    config.logger.level = Logger::WARN
    config[:average_scheduled_poll_interval] = 1
  end
end

JOB = defined?(Sidekiq::Job) ? Sidekiq::Job : Sidekiq::Worker

class Ledger
  include JOB

  def perform(path, id, ms = 0)
    write(path, "S #{id} #{Process.pid} 0 #{mono}")
    sleep(ms / 1000.0)
    write(path, "D #{id} #{Process.pid} #{mono}")
  end

  private

  def mono = Process.clock_gettime(Process::CLOCK_MONOTONIC, :nanosecond)
  # As long as the lines of the example in C++, which are never torn.
  def write(path, line) = File.open(path, File::WRONLY | File::APPEND | File::CREAT) { |file| file.syswrite("#{line.ljust(63)}\n") }
end

class Sleep
  include JOB

  def perform(ms) = sleep(ms / 1000.0)
end

class Fail
  include JOB

  def perform(message) = raise(message)
end
