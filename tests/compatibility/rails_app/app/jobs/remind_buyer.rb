class RemindBuyer < ApplicationJob
  def perform(path, number, after) = Journal.work(path, "remind-#{number}", "#{after.to_i}s")
end
