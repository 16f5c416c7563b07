class ApplicationJob < ActiveJob::Base
  queue_as :shop
end
