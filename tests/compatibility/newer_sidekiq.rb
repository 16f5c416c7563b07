# Runs one of these tests with Sidekiq 7 or later, if the Sidekiq that Ruby finds first is older:
#
#   newer_sidekiq.rb encryption_test.rb
#
# BROOD_NEWER_SIDEKIQ is a folder of unpacked gems (sidekiq-7*, redis-client-*, connection_pool-*, ...), such as
# /usr/share/rubygems-integration/all/gems of a Debian 13; otherwise it is a gem that is installed beside the older one.
NOT_HERE = 77 # the test is skipped

def folders_of_gems(directory) = Dir.glob(File.join(directory, "*")).select { |gem| Dir.exist?(File.join(gem, "lib")) }

def folders_of_installed_gems
  sidekiq = Gem::Specification.find_all_by_name("sidekiq", ">= 7").max_by(&:version) or return []
  needed = sidekiq.runtime_dependencies.filter_map { |gem| Gem::Specification.find_all_by_name(gem.name, gem.requirement).max_by(&:version) }
  [sidekiq, *needed].map(&:full_gem_path)
end

given = ENV["BROOD_NEWER_SIDEKIQ"].to_s
gems = given.empty? ? folders_of_installed_gems : folders_of_gems(given)
wanted = gems.select { |gem| File.basename(gem).match?(/\A(sidekiq-([7-9]|\d\d)|redis-client-|connection_pool-)/) }
unless wanted.any? { |gem| File.basename(gem).start_with?("sidekiq-") }
  puts "Skipped: there is no Sidekiq from 7 on. Install the gem, or name a folder of unpacked gems in BROOD_NEWER_SIDEKIQ."
  exit NOT_HERE
end
environment = { "RUBYLIB" => [*wanted.map { |gem| File.join(gem, "lib") }, ENV["RUBYLIB"]].compact.join(":"),
                "PATH" => [*wanted.flat_map { |gem| [File.join(gem, "bin"), File.join(gem, "exe")] }, ENV["PATH"]].join(":") }
exec(environment, "ruby", File.join(__dir__, ARGV.fetch(0)), *ARGV.drop(1))
