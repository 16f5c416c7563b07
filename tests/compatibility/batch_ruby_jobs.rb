# Jobs of batches for Ruby's own Sidekiq, each with its own way to end.
require_relative "ruby_jobs"
require_relative "../../packaging/ruby/brood_unique_jobs"
require_relative "../../packaging/ruby/brood_batch"

BroodUniqueJobs.enable
Brood::Batch.install

class Ending
  include JOB
  sidekiq_options queue: "ruby"
  sidekiq_retry_in { |_count, error| error.message == "discard" ? :discard : 1 }
  sidekiq_retries_exhausted { |job, _error| job["args"].first == "discard at last" ? :discard : nil }

  # "well if FILE": succeeds once that file exists.
  def perform(how)
    raise how unless how == "well" || File.exist?(how.delete_prefix("well if "))
  end
end

# Adds two jobs to its own batch, and writes down what it knows of it.
class Adding
  include JOB
  sidekiq_options queue: "ruby"

  def perform(ledger)
    Sidekiq.redis { |connection| connection.set("adding", "#{bid} #{Brood::Batch.current.bid}") }
    Brood::Batch.current.jobs { 2.times { |n| Ledger.set(queue: "ruby").perform_async(ledger, "added-#{n}") } }
  end
end

# Makes a batch that its own batch waits for.
class Nesting
  include JOB
  sidekiq_options queue: "ruby"

  def perform(ledger)
    child = Brood::Batch.new(description: "child", parent: bid)
    child.on(:success, "Ledger", ledger, "child", 300, queue: "ruby")
    child.jobs { Ledger.set(queue: "ruby").perform_async(ledger, "of-child") }
    Sidekiq.redis { |connection| connection.set("child", child.bid) }
  end
end

# As Sidekiq's interrupt handler, or a middleware that puts a job off: the job is pushed again while it runs.
class Interrupting
  include JOB
  sidekiq_options queue: "ruby"

  def perform(file)
    return if File.exist?(file)
    File.write(file, "")
    job = Brood::Batch::Running.here.job
    Sidekiq::Client.push(job.merge("at" => Time.now.to_f + 2))
    raise Sidekiq::JobRetry::Skip if SIDEKIQ_HAS_INTERRUPTS
  end
end
SIDEKIQ_HAS_INTERRUPTS = Sidekiq::VERSION.to_i >= 7

# Outlasts the process that begins it.
class Stopped
  include JOB

  def perform(file)
    return if File.exist?(file)
    File.write(file, "")
    sleep
  end
end

# As ActiveJob's adapter does for a class with retry_on: enqueues the job again while it runs.
class Wrapper
  include JOB

  def perform(job)
    return unless job["executions"].zero?
    Wrapper.set("wrapped" => job["job_class"], "queue" => "ruby")
           .perform_in(3, job.merge("executions" => 1, "exception_executions" => { "[StandardError]" => 1 }))
  end
end

if defined?(Sidekiq::IterableJob)
  class Iterating
    include Sidekiq::IterableJob
    sidekiq_options queue: "ruby"

    def build_enumerator(ledger, cursor:) = array_enumerator([1, 2, 3], cursor: cursor)

    def each_iteration(number, ledger)
      Ledger.new.perform(ledger, "item-#{number}")
      raise Sidekiq::Job::Interrupted if number == 2 && Sidekiq.redis { |connection| connection.incr("interrupts") } == 1
    end
  end
end
