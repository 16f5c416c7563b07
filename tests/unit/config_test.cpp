#include "shared/config/config.hpp"
#include "shared/config/reading/load_config.hpp"

#include <boost/test/unit_test.hpp>
#include <chrono>
#include <map>
#include <regex>
#include <string>
#include <vector>

#include "tests/support/file_text.hpp"
#include "tests/support/loaded_config.hpp"

using namespace brood;
using namespace brood::loaded_config;
using namespace std::chrono_literals;

namespace {

std::string reference() { return text_of_file(BROOD_SOURCE_DIR "/etc/brood.toml"); }

void check_defaults(const Config& config) {
  BOOST_TEST_REQUIRE(config.capsules.size() == 1u);
  BOOST_TEST(config.capsules[0].name == "default");
  BOOST_TEST(config.capsules[0].concurrency >= 1);
  BOOST_TEST(config.capsules[0].queues.names() == std::vector<std::string>{"default"},
             boost::test_tools::per_element());
  BOOST_TEST(config.require.empty());
  BOOST_CHECK(config.shutdown_timeout == 25s);
  BOOST_CHECK(config.boot_timeout == 5min);
  BOOST_TEST(config.environment == "development");
  BOOST_TEST(config.tag == "");
  BOOST_CHECK(config.poll_interval == 5s);
  BOOST_TEST(config.max_retries == 25);
  BOOST_TEST(config.max_unavailable == 1);
  BOOST_TEST(config.restart.canary);
  BOOST_CHECK(config.restart.canary_watch == 30s);
  BOOST_TEST((config.crashes.quarantine_after == 0 && config.crashes.within == 10min));
  BOOST_CHECK(config.expired == ExpiredJobs::drop);
  BOOST_TEST((config.encryption.keys.empty() && config.encryption.active == 0 && !config.encryption.core_files &&
              config.encryption.require));
  BOOST_TEST(config.pressure.memory == 10);
  BOOST_TEST((config.web.listen.empty() && !config.web.read_only && config.web.mode == "0660"));
  BOOST_TEST(config.pressure.proc == "/proc");
  BOOST_TEST(config.pressure.cgroup == "/sys/fs/cgroup");
  BOOST_CHECK(config.max_iteration_runtime == 0s);
  BOOST_TEST(config.labels.empty());
  BOOST_TEST(config.dead_max_jobs == 10'000);
  BOOST_CHECK(config.dead_timeout == 180 * 24h);
  BOOST_CHECK(config.redis.give_up_after == 30s);
  BOOST_TEST(config.redis.wait == 0);
  BOOST_CHECK(config.redis.wait_timeout == 1s);
  BOOST_TEST(config.redis.url == "");
  BOOST_CHECK(config.redis.appendfsync == AppendFsync::always);
  BOOST_TEST(config.leaves_due_jobs_to_ruby);
  BOOST_CHECK(config.log.level == log::Level::info);
  BOOST_CHECK(config.log.format == log::Format::text);
  BOOST_TEST(config.log.file == "");
  BOOST_TEST(!config.log_jobs);
  BOOST_TEST(config.worker.max_jobs == 0u);
  BOOST_TEST(config.worker.max_rss_bytes == 0u);
  BOOST_TEST(config.worker.memory_limit_bytes == 0u);
  BOOST_CHECK(config.worker.job_timeout == 0s);
  BOOST_CHECK(config.worker.timeout_grace == 2s);
  BOOST_TEST(config.worker.max_crashes == 3);
  BOOST_TEST(config.worker.max_batch == 32);
  BOOST_TEST(config.worker.seccomp);
  BOOST_CHECK(config.worker.threads == LeftThreads::replace);
  BOOST_TEST(config.commands.empty());
  BOOST_TEST(!config.on_error);
  BOOST_TEST(!config.compatibility.sidekiq);
  BOOST_TEST(!config.compatibility.timestamps);
  BOOST_TEST(!config.compatibility.serves_unique_jobs_gem);
}

}  // namespace

BOOST_AUTO_TEST_CASE(without_a_file_every_setting_has_its_default) { check_defaults(load_config("", {})); }

BOOST_AUTO_TEST_CASE(an_empty_file_sets_nothing) { check_defaults(load("")); }

BOOST_AUTO_TEST_CASE(the_reference_file_shows_the_defaults) { check_defaults(load(reference())); }

BOOST_AUTO_TEST_CASE(every_key_that_the_reference_file_leaves_out_is_accepted_too) {
  const std::string all = std::regex_replace(reference(), std::regex("(^|\n)#(\\[|[a-z0-9_]+ = )"), "$1$2");
  const Config config = load(all);
  BOOST_TEST(config.redis.password_file == "/etc/brood/redis.password");
  BOOST_TEST(config.redis.sentinel.password_file == "/etc/brood/sentinel.password");
  BOOST_TEST(config.log.file == "/var/log/brood/brood.log");
  BOOST_TEST(config.capsules.size() == 2u);
  BOOST_TEST(config.commands.size() == 1u);
  BOOST_TEST(config.on_error.has_value());
  BOOST_TEST(config.compatibility.sidekiq.has_value());
  BOOST_TEST(config.compatibility.timestamps.has_value());
  BOOST_TEST(config.compatibility.serves_unique_jobs_gem);
}

BOOST_AUTO_TEST_CASE(every_key_of_the_file_reaches_its_setting) {
  const Config config = load(R"(
concurrency = 8
queues = [["critical", 5], ["default", 1]]
require = ["/usr/lib/brood/jobs/libjobs.so"]
shutdown_timeout = "1m30s"
boot_timeout = "90s"
environment = "production"
tag = "images"
poll_interval = 0.5
max_retries = 3
max_unavailable = 2
max_iteration_runtime = "10m"
labels = ["eu-1", "blue"]
dead_max_jobs = 50
dead_timeout = "2d"

[redis]
url = "unix:///run/redis/redis.sock?db=0"
appendfsync = "everysec"
user = "brood"
password_file = "/etc/brood/password"
share_with_jobs = false
give_up_after = "2m"
wait = 2
wait_timeout = "300ms"
[redis.sentinel]
user = "watcher"
password_file = "/etc/brood/sentinel.password"

[restart]
canary = false
canary_watch = "5m"

[pressure]
memory = 25
proc = "/host/proc"
cgroup = "/host/cgroup"

[crashes]
quarantine_after = 5
within = "1h"

[encryption]
active = 2
require = true
core_files = true

[encryption.keys]
2 = "/etc/brood/key2"
13 = "credential:key13"

[scheduler]
queues = "all"

[log]
level = "debug"
format = "json"
file = "/var/log/brood.log"
log_jobs = true

[worker]
max_jobs = 1000
max_rss = "512M"
memory_limit = "2G"
job_timeout = "10m"
timeout_grace = 5
max_crashes = 1
max_batch = 8
seccomp = false
threads = "allow"

[classes."Images::Resize"]
threads = "replace"
isolation = "process"
[classes.Plain]
[classes.Thumb.sandbox]
network = false
write = ["/var/lib/thumbs"]
read = []
memory = "512M"
cpu = 1.5
processes = 8
strict = true

[capsules.images]
concurrency = 4
queues = ["images"]

[commands.Transcode]
run = ["/usr/bin/ffmpeg", "-i", "{0}", "{1}", ""]
timeout = "10m"
env = { LANG = "C", EMPTY = "" }
directory = "/srv/media"

[on_error]
run = ["/usr/local/bin/report", "{0}"]
timeout = "10s"
env = { DSN = "https://errors.example.com" }
directory = "/srv"

[compatibility]
sidekiq = "7.3"
timestamps = "milliseconds"
sidekiq_unique_jobs = true
)");
  BOOST_TEST(config.concurrency() == 12);
  BOOST_TEST(config.capsules[0].concurrency == 8);
  BOOST_TEST(config.capsules[0].queues.weights().at("critical") == 5);
  BOOST_CHECK(config.capsules[0].queues.mode() == QueueOrder::Mode::weighted);
  BOOST_TEST(config.require == std::vector<std::string>{"/usr/lib/brood/jobs/libjobs.so"},
             boost::test_tools::per_element());
  BOOST_CHECK(config.shutdown_timeout == 90s);
  BOOST_CHECK(config.boot_timeout == 90s);
  BOOST_TEST(config.environment == "production");
  BOOST_TEST(config.tag == "images");
  BOOST_CHECK(config.poll_interval == 500ms);
  BOOST_TEST(config.max_retries == 3);
  BOOST_TEST(config.max_unavailable == 2);
  BOOST_TEST(!config.restart.canary);
  BOOST_CHECK(config.restart.canary_watch == 5min);
  BOOST_TEST(config.pressure.memory == 25);
  BOOST_TEST(config.pressure.proc == "/host/proc");
  BOOST_TEST(config.pressure.cgroup == "/host/cgroup");
  BOOST_CHECK(config.max_iteration_runtime == 10min);
  BOOST_TEST(config.labels == (std::vector<std::string>{"eu-1", "blue"}), boost::test_tools::per_element());
  BOOST_TEST(config.dead_max_jobs == 50);
  BOOST_CHECK(config.dead_timeout == 48h);
  BOOST_TEST(config.redis.url == "unix:///run/redis/redis.sock?db=0");
  BOOST_CHECK(config.redis.appendfsync == AppendFsync::everysec);
  BOOST_TEST(config.redis.user == "brood");
  BOOST_TEST(config.redis.password_file == "/etc/brood/password");
  BOOST_TEST(!config.redis.share_with_jobs);
  BOOST_TEST(config.redis.sentinel.user == "watcher");
  BOOST_TEST(config.redis.sentinel.password_file == "/etc/brood/sentinel.password");
  BOOST_TEST(config.redis.wait == 2);
  BOOST_CHECK(config.redis.wait_timeout == 300ms);
  BOOST_CHECK(config.redis.give_up_after == 2min);
  BOOST_CHECK(config.log.level == log::Level::debug);
  BOOST_CHECK(config.log.format == log::Format::json);
  BOOST_TEST(!config.leaves_due_jobs_to_ruby);
  BOOST_TEST(config.log.file == "/var/log/brood.log");
  BOOST_TEST(config.log_jobs);
  BOOST_TEST(config.worker.max_jobs == 1000u);
  BOOST_TEST(config.worker.max_rss_bytes == 512ull << 20);
  BOOST_TEST(config.worker.memory_limit_bytes == 2ull << 30);
  BOOST_CHECK(config.worker.job_timeout == 10min);
  BOOST_CHECK(config.worker.timeout_grace == 5s);
  BOOST_TEST(config.worker.max_crashes == 1);
  BOOST_TEST(config.worker.max_batch == 8);
  BOOST_TEST(!config.worker.seccomp);
  BOOST_CHECK(config.worker.threads == LeftThreads::allow);
  BOOST_TEST_REQUIRE(config.classes.size() == 3u);
  BOOST_CHECK(config.classes.at("Images::Resize").threads == LeftThreads::replace);
  BOOST_CHECK(!config.classes.at("Plain").threads);
  BOOST_CHECK(config.classes.at("Images::Resize").isolation == Isolation::process);
  BOOST_CHECK(!config.classes.at("Plain").isolation);
  BOOST_CHECK(!config.classes.at("Plain").sandbox);
  BOOST_TEST((config.crashes.quarantine_after == 5 && config.crashes.within == 1h));
  BOOST_TEST((config.encryption.active == 2 && config.encryption.require && config.encryption.core_files &&
              config.encryption.keys.size() == 2));
  BOOST_TEST(config.encryption.keys.at(2).path == "/etc/brood/key2");
  BOOST_TEST(config.encryption.keys.at(13).path == "credential:key13");
  BOOST_CHECK(config.classes.at("Thumb").isolation == Isolation::process);
  BOOST_REQUIRE(config.classes.at("Thumb").sandbox.has_value());
  const SandboxSettings& sandbox = *config.classes.at("Thumb").sandbox;
  BOOST_TEST((!sandbox.network && sandbox.strict));
  BOOST_TEST((sandbox.write == std::vector<std::string>{"/var/lib/thumbs"} && sandbox.read->empty()));
  BOOST_TEST((sandbox.memory_bytes == 512u << 20 && sandbox.cpu == 1.5 && sandbox.processes == 8));
  BOOST_TEST_REQUIRE(config.capsules.size() == 2u);
  BOOST_TEST(config.capsules[1].name == "images");
  BOOST_TEST(config.capsules[1].concurrency == 4);
  BOOST_TEST(config.capsules[1].queues.names() == std::vector<std::string>{"images"}, boost::test_tools::per_element());
  BOOST_TEST(
      config.commands.at("Transcode").run == (std::vector<std::string>{"/usr/bin/ffmpeg", "-i", "{0}", "{1}", ""}),
      boost::test_tools::per_element());
  BOOST_CHECK(config.commands.at("Transcode").timeout == 10min);
  BOOST_CHECK(config.commands.at("Transcode").env ==
              (std::map<std::string, std::string>{{"LANG", "C"}, {"EMPTY", ""}}));
  BOOST_TEST(config.commands.at("Transcode").directory == "/srv/media");
  BOOST_TEST(config.on_error->run == (std::vector<std::string>{"/usr/local/bin/report", "{0}"}),
             boost::test_tools::per_element());
  BOOST_CHECK(config.on_error->timeout == 10s);
  BOOST_TEST(config.on_error->env.at("DSN") == "https://errors.example.com");
  BOOST_TEST(config.on_error->directory == "/srv");
  BOOST_CHECK(config.compatibility.sidekiq == SidekiqRelease::parse("7.3"));
  BOOST_CHECK(config.compatibility.timestamps == TimeUnit::integer_milliseconds);
  BOOST_TEST(config.compatibility.serves_unique_jobs_gem);
  BOOST_TEST(config.warnings.empty());
}
