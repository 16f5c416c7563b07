class CropImage < ApplicationJob
  def perform(path, number, width:, format:) = Journal.work(path, "crop-#{number}", "#{width}#{format}")
end
