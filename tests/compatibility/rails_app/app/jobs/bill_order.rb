class BillOrder < ApplicationJob
  def perform(path, order, due) = Journal.work(path, "bill-#{order.id}", "#{order.class}@#{(due.to_r * 1000).floor}")
end
