# The jobs of ruby_jobs.rb, in an application whose client middleware counts what its processes push.
require_relative "ruby_jobs"

class CountPushes
  def call(_class, _job, _queue, _pool)
    Sidekiq.redis { |connection| connection.incr("counted:pushes") }
    yield
  end
end

Sidekiq.configure_server { |config| config.client_middleware { |chain| chain.add CountPushes } }
