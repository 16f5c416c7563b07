# A Rails application without a database, whose jobs go to Sidekiq's queue `shop`.
require "rails"
require "action_controller/railtie" # as every application has; Rails 7 loads a controller of its own
require "active_job/railtie"
require "sidekiq"
require_relative "../lib/journal"

module Shop
  class Application < Rails::Application
    config.load_defaults Rails::VERSION::STRING.to_f
    config.root = File.expand_path("..", __dir__)
    config.eager_load = true
    config.secret_key_base = "of the tests alone"
    config.time_zone = "Europe/Berlin"
    config.logger = Logger.new(nil)
    config.active_job.queue_adapter = :sidekiq
  end
end
