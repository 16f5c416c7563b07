# The jobs of tests/lifecycle/sealed_jobs.cpp, as a Ruby application would write them.
require_relative "ruby_jobs"
require_relative "../../packaging/ruby/brood_encryption"

BroodEncryption.install(keys: { 1 => ENV.fetch("SEALED_KEY") })

class Charge
  include JOB
  sidekiq_options encrypt: true, queue: "ruby"

  def perform(path, what, card)
    File.open(path, "a") { |file| file.syswrite("ruby #{what} #{card["number"]} #{card["cvc"]}\n") }
    raise "no money" if what == "fail"
  end
end
