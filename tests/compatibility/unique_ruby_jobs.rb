# Unique jobs for Ruby's own Sidekiq, each with its own way to end.
require_relative "ruby_jobs"
require_relative "../../packaging/ruby/brood_unique_jobs"

BroodUniqueJobs.enable

class Ending
  include JOB
  sidekiq_options unique_until: "done", queue: "ruby"
  sidekiq_retry_in { |_count, error| error.message == "discard" ? :discard : 60 }
  sidekiq_retries_exhausted { |job, _error| job["args"].first == "discard at last" ? :discard : nil }

  def perform(how)
    raise how unless how == "well"
  end
end

# As ActiveJob's adapter does for a class with retry_on: enqueues the job again while it runs.
class Wrapper
  include JOB

  def perform(job)
    if job["executions"].zero?
      Sidekiq::Client.push("class" => "Wrapper", "wrapped" => job["job_class"], "queue" => "ruby", "unique_until" => "done",
                           "args" => [job.merge("executions" => 1, "enqueued_at" => Time.now.to_s)])
    else
      lock = BroodUniqueJobs.key(BroodUniqueJobs::Server.running["unique_lock"])
      Sidekiq.redis { |connection| connection.set("again", "#{jid} #{connection.get(lock)}") }
    end
  end
end
