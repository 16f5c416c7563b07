# Who performed which job: `S id pid` when it begins, `D id pid facts` when it ends.
module Journal
  def self.work(path, id, facts)
    note(path, "S #{id} #{Process.pid}")
    sleep 0.003
    note(path, "D #{id} #{Process.pid} #{facts}")
  end

  # Appends one whole line.
  def self.note(path, line) = File.open(path, File::WRONLY | File::APPEND | File::CREAT) { |file| file.syswrite("#{line}\n") }
end
