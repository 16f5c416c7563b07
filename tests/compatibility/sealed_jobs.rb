# The jobs of tests/lifecycle/sealed_jobs.cpp, as a Ruby application would write them.
require_relative "ruby_jobs"
require_relative "../../packaging/ruby/brood_encryption"

BroodEncryption.install(keys: { 1 => ENV.fetch("SEALED_KEY") })

# The arguments that handlers get, and Sidekiq's log of the end of a job.
if ENV["SEALED_TOLD"]
  TELL = ->(line) { File.open(ENV.fetch("SEALED_TOLD"), "a") { |file| file.syswrite("#{line}\n") } }
  Sidekiq.configure_server do |config|
    config.error_handlers << ->(error, context, *) { TELL.call("error handler: #{error.class} #{context.dig(:job, "jid")}") }
    config.death_handlers << ->(job, error) { TELL.call("death handler: #{error.class} #{job["jid"]}") }
    config.logger.level = Logger::INFO
  end
end

class Charge
  include JOB
  sidekiq_options encrypt: true, queue: "ruby"

  def perform(path, what, card)
    File.open(path, "a") { |file| file.syswrite("ruby #{what} #{card["number"]} #{card["cvc"]}\n") }
    raise "no money" if what == "fail"
  end
end
