# Two shards on this machine, and the class to push.
require "digest"
require "sidekiq"
require "socket"
require "tmpdir"

Redis.silence_deprecations = true if defined?(Redis) && Redis.respond_to?(:silence_deprecations=)
directory = Dir.mktmpdir("brood-snippet-")
servers = %w[EAST WEST].map do |name|
  socket = "#{directory}/#{name}"
  ENV["REDIS_#{name}"] = "unix://#{socket}"
  server = spawn("redis-server", "--port", "0", "--unixsocket", socket, "--save", "", "--dir", directory, out: File::NULL)
  sleep 0.01 until (UNIXSocket.new(socket).close || true rescue false)
  server
end
at_exit do
  servers.each { |server| Process.kill("KILL", server) }
  servers.each { |server| Process.wait(server) }
  system("rm", "-r", directory)
end

class CountWords
  include Sidekiq::Worker
end

# SNIPPET

sizes = SHARDS.transform_values { |pool| pool.with { |redis| redis.llen("queue:default") } }
expected = SHARDS.keys.max_by { |shard| Digest::SHA1.hexdigest("#{shard}:tenant-7") }
abort "the job is not in #{expected}: #{sizes}" unless sizes == SHARDS.keys.to_h { |name| [name, name == expected ? 1 : 0] }
