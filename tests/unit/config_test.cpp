#include "shared/config/config.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <boost/test/unit_test.hpp>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <sstream>
#include <string>
#include <vector>

#include "tests/support/loaded_config.hpp"
#include "tests/support/temporary_directory.hpp"

using namespace brood;
using namespace brood::loaded_config;
using namespace std::chrono_literals;

namespace {

std::string complaint_about_path(const std::string& path) {
  try {
    load_config(path, {});
    return "";
  } catch (const ConfigError& error) {
    return error.what();
  }
}

std::string complaint_about(const ConfigOverrides& overrides) {
  try {
    load_config("", overrides);
    return "";
  } catch (const ConfigError& error) {
    return error.what();
  }
}

std::string reference() {
  std::ifstream file(BROOD_SOURCE_DIR "/etc/brood.toml");
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

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
  BOOST_TEST((config.encryption.keys.empty() && config.encryption.active == 0 && !config.encryption.core_files));
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
  BOOST_TEST((config.encryption.active == 2 && config.encryption.core_files && config.encryption.keys.size() == 2));
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

BOOST_AUTO_TEST_CASE(the_unit_of_times_is_that_of_the_release_unless_it_is_said) {
  BOOST_CHECK(!load("").compatibility.time_unit());
  BOOST_CHECK(load("[compatibility]\nsidekiq = '7'").compatibility.time_unit() == TimeUnit::float_seconds);
  BOOST_CHECK(load("[compatibility]\nsidekiq = '8'").compatibility.time_unit() == TimeUnit::integer_milliseconds);
  BOOST_CHECK(load("[compatibility]\nsidekiq = '8'\ntimestamps = 'seconds'").compatibility.time_unit() ==
              TimeUnit::float_seconds);
}

BOOST_AUTO_TEST_CASE(shards_have_names_and_what_they_do_not_say_is_as_for_one_redis) {
  const Config config = load(
      "[redis]\nuser = 'app'\n[[redis.shard]]\nurl = 'redis://a'\n[[redis.shard]]\nurl = 'redis://b'\nname = "
      "'west'\nuser = 'other'\n");
  BOOST_TEST_REQUIRE(config.redis.shard_list.size() == 2U);
  BOOST_TEST(config.redis.shard_list[0].name == "0");
  BOOST_TEST(config.redis.shard_list[0].user == "");
  BOOST_TEST(config.redis.shard_list[1].name == "west");
  BOOST_TEST(config.redis.shard_list[1].user == "other");
  BOOST_TEST(config.redis.user == "app");
}

BOOST_AUTO_TEST_CASE(shards_are_drained_that_say_so_and_of_a_cluster_those_that_are_named) {
  const Config config = load(
      "[[redis.shard]]\nurl = 'redis://a'\ndrain = true\n[[redis.shard]]\nurl = 'redis://b'\ndrain = false\n"
      "[[redis.shard]]\nurl = 'redis://c'\n");
  BOOST_TEST_REQUIRE(config.redis.shard_list.size() == 3U);
  BOOST_TEST(config.redis.shard_list[0].drain);
  BOOST_TEST(!config.redis.shard_list[1].drain);
  BOOST_TEST(!config.redis.shard_list[2].drain);
  const Config cluster = load("[redis]\ndrain = [3, 2]\nurl = 'cluster://a'\nshards = 4\n");
  BOOST_TEST((cluster.redis.drain == std::vector<int>{3, 2}));
  BOOST_TEST(load("[redis]\nurl = 'cluster://a'\n").redis.drain.empty());
}

BOOST_AUTO_TEST_CASE(a_redis_of_the_command_line_takes_the_place_of_all_shards) {
  const Config config = load("[[redis.shard]]\nurl = 'redis://a'\n", {.redis_url = "redis://b"});
  BOOST_TEST(config.redis.shard_list.empty());
  BOOST_TEST(config.redis.url == "redis://b");
}

BOOST_AUTO_TEST_CASE(a_program_for_errors_has_a_few_seconds) {
  BOOST_CHECK(load("[on_error]\nrun = ['report']").on_error->timeout == 3s);
  BOOST_CHECK(!load("[on_error]\n").on_error);
}

BOOST_AUTO_TEST_CASE(a_capsule_without_settings_takes_as_many_workers_as_the_default_one_and_the_default_queue) {
  const Config config = load("concurrency = 3\n[capsules.more]\n");
  BOOST_TEST(config.capsules[1].concurrency == 3);
  BOOST_TEST(config.capsules[1].queues.names() == std::vector<std::string>{"default"},
             boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_capsule_has_the_limits_of_its_own_that_it_names_and_the_general_ones_otherwise) {
  const Config config = load(R"(
[capsules.images]
memory_limit = "2G"
job_timeout = "10m"
max_batch = 1
seccomp = false
threads = "allow"
[capsules.mail]
[worker]
max_jobs = 100
max_crashes = 5
memory_limit = "1G"
)");
  const auto worker_of = [&](const std::string& name) {
    for (std::size_t i = 0; i < config.capsules.size(); ++i) {
      if (config.capsules[i].name == name) return config.worker_of(static_cast<int>(i));
    }
    throw std::out_of_range(name);
  };
  const WorkerSettings images = worker_of("images"), mail = worker_of("mail"), general = worker_of("default");
  BOOST_TEST(images.memory_limit_bytes == 2ull << 30);
  BOOST_CHECK(images.job_timeout == 10min);
  BOOST_TEST(images.max_batch == 1);
  BOOST_TEST(!images.seccomp);
  BOOST_CHECK(images.threads == LeftThreads::allow);
  BOOST_TEST(images.max_jobs == 100u);
  BOOST_TEST(images.max_crashes == 5);
  for (const WorkerSettings& other : {mail, general}) {
    BOOST_TEST(other.memory_limit_bytes == 1ull << 30);
    BOOST_CHECK(other.job_timeout == 0s);
    BOOST_TEST(other.max_batch == 32);
    BOOST_TEST(other.seccomp);
    BOOST_CHECK(other.threads == LeftThreads::replace);
    BOOST_TEST(other.max_jobs == 100u);
  }
}

BOOST_AUTO_TEST_CASE(the_default_capsule_may_be_without_workers_beside_another_one) {
  const Config config = load("concurrency = 0\n[capsules.images]\nconcurrency = 4\n[capsules.mail]\n");
  BOOST_TEST(config.capsules[0].concurrency == 0);
  BOOST_TEST(config.capsules[1].concurrency + config.capsules[2].concurrency == config.concurrency());
  BOOST_TEST(config.capsules[1].concurrency >= 1);
  BOOST_TEST(config.capsules[2].concurrency >= 1);
}

BOOST_AUTO_TEST_CASE(queues_are_names_pairs_or_names_with_a_comma_and_a_weight) {
  BOOST_CHECK(load("queues = ['critical', 'default']").capsules[0].queues.mode() == QueueOrder::Mode::strict);
  BOOST_TEST(load("queues = ['critical,3', 'default,1']").capsules[0].queues.weights().at("critical") == 3);
  BOOST_TEST(load("queues = ['critical,3', ['default', 0]]").capsules[0].queues.weights().at("default") == 0);
}

BOOST_AUTO_TEST_CASE(a_star_follows_every_known_queue_alone_or_among_others) {
  const CapsuleSettings capsule = load("queues = ['*']").capsules[0];
  BOOST_TEST(capsule.follows_all_queues);
  BOOST_TEST(capsule.queues.names() == std::vector<std::string>{"*"}, boost::test_tools::per_element());
  BOOST_TEST(!load("queues = ['star']").capsules[0].follows_all_queues);
  const CapsuleSettings mixed = load("queues = ['critical', '*', 'low']").capsules[0];
  BOOST_TEST(mixed.follows_all_queues);
  BOOST_TEST(mixed.queues.names() == (std::vector<std::string>{"critical", "*", "low"}),
             boost::test_tools::per_element());
  BOOST_CHECK(load("queues = ['critical,3', '*,1']").capsules[0].queues.mode() == QueueOrder::Mode::weighted);
  BOOST_TEST(complaint("queues = ['*', 'a', '*']") ==
             "1: queues: \"*\" takes every queue that no other entry names, and may stand there once");
}

BOOST_AUTO_TEST_CASE(a_relative_job_library_is_found_from_the_working_directory) {
  const std::string here = std::filesystem::current_path().string();
  BOOST_TEST(load("require = ['./libjobs.so', 'libmore.so']").require ==
                 (std::vector<std::string>{here + "/libjobs.so", here + "/libmore.so"}),
             boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(line_ends_of_windows_and_a_byte_order_mark_are_accepted) {
  BOOST_TEST(load("\xef\xbb\xbf"
                  "concurrency = 3\r\ntag = 'x'\r\n")
                 .concurrency() == 3);
}

BOOST_AUTO_TEST_CASE(every_wrong_setting_is_named_with_its_line_and_what_would_be_right) {
  const std::pair<std::string, std::string> cases[] = {
      // keys
      {"\n\nconcurency = 3", "3: concurency: unknown key; did you mean \"concurrency\"?"},
      {"colour = 3", "1: colour: unknown key"},
      {"[worker]\nmax_job = 3", "2: worker.max_job: unknown key; did you mean \"max_jobs\"?"},
      {"[workers]\nmax_jobs = 3", "1: workers: unknown key; did you mean \"worker\"?"},
      {"max_rss = '1G'", "1: max_rss: unknown key; did you mean \"worker.max_rss\"?"},
      {"timeout = 25", "1: timeout: unknown key; did you mean \"shutdown_timeout\"?"},
      {"average_scheduled_poll_interval = 5",
       "1: average_scheduled_poll_interval: unknown key; did you mean \"poll_interval\"?"},
      {"[classes.A]\nisolation = 'fork'", "2: classes.A.isolation: must be \"worker\" or \"process\", not \"fork\""},
      {"[classes.A]\nisolation = 'worker'\n[classes.A.sandbox]\nnetwork = false",
       "1: classes.A: a sandbox needs isolation = \"process\": it is left only by the end of a process"},
      {"[classes.A.sandbox]\nread = ['data']", "2: classes.A.sandbox.read: must be an absolute path, not \"data\""},
      {"[classes.A.sandbox]\nread = '/data'", "2: classes.A.sandbox.read: must be an array of strings, not a string"},
      {"[classes.A.sandbox]\ncpu = -1", "2: classes.A.sandbox.cpu: must be between 0 and 4096"},
      {"[classes.A.sandbox]\ncpu = 'all'", "2: classes.A.sandbox.cpu: must be a number, not a string"},
      {"[classes.A.sandbox]\nnetwrk = true", "2: classes.A.sandbox.netwrk: unknown key; did you mean \"network\"?"},
      {"[classes.A]\nthread = 'allow'", "2: classes.A.thread: unknown key; did you mean \"threads\"?"},
      {"[classes.A]\nthreads = 'never'", "2: classes.A.threads: must be \"replace\" or \"allow\", not \"never\""},
      {"[capsules.images]\nqueue = ['x']", "2: capsules.images.queue: unknown key; did you mean \"queues\"?"},
      {"[capsules.images]\nmax_rs = '1G'", "2: capsules.images.max_rs: unknown key; did you mean \"max_rss\"?"},
      {"[capsules.images]\nmax_crashes = 0", "2: capsules.images.max_crashes: must be between 1 and 1000, not 0"},
      {"[capsules.images]\njob_timeout = true",
       "2: capsules.images.job_timeout: must be a duration such as \"25s\", not a boolean"},
      {"[capsules.images]\nmemory_limit = 100",
       "2: capsules.images.memory_limit: must be 0 (no limit) or at least \"1M\""},
      {"[capsules.images]\nconcurrency = 0", "2: capsules.images.concurrency: must be between 1 and 10000, not 0"},
      {"concurrency = 0\n[capsules]", "1: concurrency: must be between 1 and 10000, not 0"},
      {"\"a\\nb\" = 1", "1: a\\nb: unknown key"},
      // types
      {"concurrency = '3'", "1: concurrency: must be an integer, not a string"},
      {"concurrency = 3.0", "1: concurrency: must be an integer, not a float"},
      {"tag = 3", "1: tag: must be a string, not an integer"},
      {"tag = 2026-11-21", "1: tag: must be a string, not a date or time"},
      {"queues = 'default'", "1: queues: must be an array of queues, not a string"},
      {"require = 'libjobs.so'", "1: require: must be an array of strings, not a string"},
      {"require = ['a.so',\n 3]", "2: require: must be a string, not an integer"},
      {"shutdown_timeout = true", "1: shutdown_timeout: must be a duration such as \"25s\", not a boolean"},
      {"redis = 'redis://localhost'", "1: redis: must be a table, not a string"},
      {"[[worker]]", "1: worker: must be a table, not an array"},
      {"capsules.images = 4", "1: capsules.images: must be a table, not an integer"},
      {"[log]\nlog_jobs = 1", "2: log.log_jobs: must be true or false, not an integer"},
      {"[worker]\nmax_rss = 1.5", "2: worker.max_rss: must be a size such as \"512M\", not a float"},
      // counts
      {"concurrency = 0", "1: concurrency: must be between 1 and 10000, not 0"},
      {"concurrency = -1", "1: concurrency: must be between 1 and 10000, not -1"},
      {"concurrency = 10001", "1: concurrency: must be between 1 and 10000, not 10001"},
      {"concurrency = 2147483648", "1: concurrency: must be between 1 and 10000, not 2147483648"},
      {"concurrency = 9223372036854775807", "1: concurrency: must be between 1 and 10000, not 9223372036854775807"},
      {"max_retries = -1", "1: max_retries: must be between 0 and 1000000, not -1"},
      {"max_unavailable = 0", "1: max_unavailable: must be between 1 and 10000, not 0"},
      {"[pressure]\nmemory = 101", "2: pressure.memory: must be between 0 and 100, not 101"},
      {"[restart]\ncanari = true", "2: restart.canari: unknown key; did you mean \"canary\"?"},
      {"dead_max_jobs = 0", "1: dead_max_jobs: must be between 1 and 1000000000, not 0"},
      {"[redis]\nappendfsync = \"on\"",
       "2: redis.appendfsync: must be \"always\" or \"everysec\" or \"no\", not \"on\""},
      {"[worker]\nmax_crashes = 0", "2: worker.max_crashes: must be between 1 and 1000, not 0"},
      {"[worker]\nseccomp = \"off\"", "2: worker.seccomp: must be true or false, not a string"},
      {"[worker]\nthreads = \"kill\"", "2: worker.threads: must be \"replace\" or \"allow\", not \"kill\""},
      {"[worker]\nmax_batch = 33", "2: worker.max_batch: must be between 1 and 32, not 33"},
      {"[worker]\nmax_jobs = -1", "2: worker.max_jobs: must be between 0 and 9223372036854775807, not -1"},
      {"[capsules.a]\nconcurrency = 0", "2: capsules.a.concurrency: must be between 1 and 10000, not 0"},
      {"concurrency = 9000\n[capsules.a]\n",
       "concurrency of all capsules together: must be between 1 and 10000, not 18000"},
      // durations and sizes
      {"boot_timeout = 0", "1: boot_timeout: must be at least 100ms"},
      {"shutdown_timeout = 0", "1: shutdown_timeout: must be longer than 0"},
      {"shutdown_timeout = -1", "1: shutdown_timeout: must not be negative"},
      {"shutdown_timeout = '-1s'",
       "1: shutdown_timeout: must be a duration such as \"25s\", \"2m\" or \"1h30m\", not \"-1s\""},
      {"shutdown_timeout = '1e9h'",
       "1: shutdown_timeout: must be a duration such as \"25s\", \"2m\" or \"1h30m\", not \"1e9h\""},
      {"shutdown_timeout = 9223372036854775807",
       "1: shutdown_timeout: must be a duration such as \"25s\", \"2m\" or \"1h30m\", not \"9223372036854775807\""},
      {"shutdown_timeout = nan", "1: shutdown_timeout: must be a number of seconds"},
      {"shutdown_timeout = '400d'", "1: shutdown_timeout: must be at most 365d"},
      {"poll_interval = '1ms'", "1: poll_interval: must be at least 10ms"},
      {"[redis]\ngive_up_after = '-1s'",
       "2: redis.give_up_after: must be a duration such as \"25s\", \"2m\" or \"1h30m\", not \"-1s\""},
      {"dead_timeout = 0", "1: dead_timeout: must be at least 1s"},
      {"[worker]\nmemory_limit = '512'", "2: worker.memory_limit: must be 0 (no limit) or at least \"1M\""},
      {"[worker]\nmemory_limit = 'lots'",
       "2: worker.memory_limit: must be a size such as \"512M\", \"2G\" or \"0\", not \"lots\""},
      {"[worker]\nmax_rss = -5", "2: worker.max_rss: must be a size such as \"512M\", \"2G\" or \"0\", not \"-5\""},
      // names
      {"tag = '<script>'", "1: tag: \"<script>\" must be made of letters, digits and _ . : @ / - (at most 255)"},
      {"tag = ''", "1: tag: \"\" must be made of letters, digits and _ . : @ / - (at most 255)"},
      {"labels = ['ok',\n'a b']", "2: labels: \"a b\" must be made of letters, digits and _ . : @ / - (at most 255)"},
      {"environment = \"a\\u001b[31m\"",
       "1: environment: \"a\\x1b[31m\" must be made of letters, digits and _ . : @ / - (at most 255)"},
      {"[capsules.'a<b']", "1: capsules.a<b: \"a<b\" must be made of letters, digits and _ . : @ / - (at most 255)"},
      {"[commands.'a b']\nrun = ['x']",
       "1: commands.a b: \"a b\" must be made of letters, digits and _ . : @ / - (at most 255)"},
      {"[capsules.default]", "1: capsules.default: the default capsule is set by the top-level concurrency and queues"},
      // queues
      {"queues = []", "1: queues: must name at least one queue"},
      {"queues = [3]", "1: queues: a queue must be \"name\", \"name,weight\" or [\"name\", weight]"},
      {"queues = [['a', 'b']]", "1: queues: a queue must be \"name\", \"name,weight\" or [\"name\", weight]"},
      {"queues = [['a', 1, 2]]", "1: queues: a queue must be \"name\", \"name,weight\" or [\"name\", weight]"},
      {"queues = [['a,2', 1]]", "1: queues: the weight is given twice"},
      // choices and texts
      {"[log]\nlevel = 'loud'", "2: log.level: must be \"debug\" or \"info\" or \"warn\" or \"error\", not \"loud\""},
      {"[log]\nformat = 'xml'", "2: log.format: must be \"text\" or \"json\", not \"xml\""},
      {"[scheduler]\nqueues = 'mine'", "2: scheduler.queues: must be \"own\" or \"all\", not \"mine\""},
      {"[log]\nfile = ''", "2: log.file: must not be empty"},
      {"require = [\"a\\u0000b\"]", "1: require: must not contain a NUL character"},
      {"[redis]\nurl = 'http://:secret@host'",
       "2: redis.url: must begin with redis://, rediss://, unix://, sentinel:// or cluster://, or be \"embedded\""},
      {"[redis]\nwait = -1", "2: redis.wait: must be between 0 and 100, not -1"},
      {"[redis]\nwait_timeout = '0s'", "2: redis.wait_timeout: must be longer than 0"},
      {"[redis.sentinel]\npasword_file = 'x'",
       "2: redis.sentinel.pasword_file: unknown key; did you mean \"password_file\"?"},
      {"[[redis.shard]]\nname = 'east'", "1: redis.shard: needs url = \"redis://...\""},
      {"[[redis.shard]]\nurl = 'embedded'",
       "2: redis.shard.url: an embedded Redis is the only one: each shard is a Redis of its own"},
      {"[[redis.shard]]\nurl = 'redis://a'\nuser = ''", "3: redis.shard.user: must not be empty"},
      {"[[redis.shard]]\nurl = 'redis://a'\nurls = ''", "3: redis.shard.urls: unknown key; did you mean \"url\"?"},
      {"[[redis.shard]]\nurl = 'redis://a'\n[[redis.shard]]\nurl = 'redis://b'\nname = '0'",
       "3: redis.shard: two shards have the name \"0\""},
      {"[[redis.shard]]\nurl = 'redis://a'\n[[redis.shard]]\nurl = 'redis://a'",
       "3: redis.shard: shard 1 has the same url as shard 0"},
      {"[redis]\nurl = 'redis://a'\n[[redis.shard]]\nurl = 'redis://b'",
       "2: redis.url: beside [[redis.shard]] there is no other Redis: make it a shard too"},
      {"[redis]\nshard = 'redis://a'", "2: redis.shard: must be tables, each below a line [[redis.shard]]"},
      {"[redis]\nurl = 'redis://a'\nshards = 4",
       "3: redis.shards: is for url = \"cluster://...\" alone; several Redis servers are a [[redis.shard]] each"},
      {"[[redis.shard]]\nurl = 'redis://a'\ndrain = 1", "3: redis.shard.drain: must be true or false, not an integer"},
      {"[[redis.shard]]\nurl = 'redis://a'\ndrain = true\n[[redis.shard]]\nurl = 'redis://b'\ndrain = true",
       "1: redis.shard: all shards are drained, and none is left for new jobs"},
      {"[redis]\nurl = 'cluster://a'\nshards = 2\ndrain = [2]", "4: redis.drain: must be between 0 and 1, not 2"},
      {"[redis]\nurl = 'cluster://a'\nshards = 2\ndrain = ['1']", "4: redis.drain: must be an integer, not a string"},
      {"[redis]\nurl = 'cluster://a'\nshards = 3\ndrain = [1, 1]", "4: redis.drain: names the shard 1 twice"},
      {"[redis]\nurl = 'cluster://a'\nshards = 2\ndrain = [0, 1]",
       "4: redis.drain: all shards are drained, and none is left for new jobs"},
      {"[redis]\nurl = 'redis://a'\ndrain = [1]",
       "3: redis.drain: is for url = \"cluster://...\" alone; of several Redis servers a [[redis.shard]] has drain = "
       "true"},
      {"[redis]\nshards = 0", "2: redis.shards: must be between 1 and 256, not 0"},
      {"[redis]\nshare_with_jobs = 'url'",
       "2: redis.share_with_jobs: must be true, false or \"password\", not \"url\""},
      {"[redis]\npassword_file = 'credential:a b'",
       "2: redis.password_file: \"a b\" must be made of letters, digits and _ . : @ / - (at most 255)"},
      {"[redis.tls]\nmin_version = '1.1'", "2: redis.tls.min_version: must be \"1.2\" or \"1.3\", not \"1.1\""},
      {"[redis.tls]\nca = ''", "2: redis.tls.ca: must not be empty"},
      {"[redis.tls]\nkey = '/k'", "2: redis.tls.key: is the key of a certificate that is not named: cert is missing"},
      {"[redis.tls]\ncerts = '/k'", "2: redis.tls.certs: unknown key; did you mean \"cert\"?"},
      {"[commands.A]", "1: commands.A: needs run = [\"program\", \"argument\", ...]"},
      {"[commands.A]\nrun = ['{0}']", "2: commands.A.run: an argument must not name the program"},
      {"[commands.'a.b']\nrun = ['x']",
       "1: commands.a.b: \"a.b\" is no job class: they are made of letters, digits, _ and :"},
      {"[commands.A]\nrun = ['x',\n'{x}']",
       "3: commands.A.run: \"{x}\" stands for nothing; {0} is the first argument, {args} is all of them, {{ and }} are "
       "braces"},
      {"[commands.A]\nrun = ['x', \"a\\u0000\"]", "2: commands.A.run: must not contain a NUL character"},
      {"[commands.A]\nrun = ['x']\nenv = { 'A=B' = '' }",
       "3: commands.A.env.A=B: a variable's name must not contain ="},
      {"[commands.A]\nrun = ['x']\n[commands.A.env]\nN = 1", "4: commands.A.env.N: must be a string, not an integer"},
      {"[commands.A]\nrun = ['x']\ndirectory = ''", "3: commands.A.directory: must not be empty"},
      {"[commands.A]\nrun = ['']", "2: commands.A.run: must not be empty"},
      {"[on_error]\nrun = ['']", "2: on_error.run: must not be empty"},
      {"[on_error]\nrun = ['x']\ntimeout = '1h'", "3: on_error.timeout: must be at most 1m"},
      {"expired = 'keep'", "1: expired: must be \"drop\" or \"dead\", not \"keep\""},
      {"[classes.A]\nexpired = 'x'", "2: classes.A.expired: must be \"drop\" or \"dead\", not \"x\""},
      {"[encryption.keys]\n0 = '/k'",
       "2: encryption.keys.0: a key's version is a number from 1 to 1,000,000, not \"0\""},
      {"[encryption.keys]\none = '/k'",
       "2: encryption.keys.one: a key's version is a number from 1 to 1,000,000, not \"one\""},
      {"[encryption.keys]\n1 = ''", "2: encryption.keys.1: must not be empty"},
      {"[encryption]\nactive = 2\n[encryption.keys]\n1 = '/k'",
       "2: encryption.active: names a version that is not among [encryption.keys]"},
      {"[compatibility]\nsidekiq = '5'",
       "2: compatibility.sidekiq: must be a release such as \"6\", \"7.3\" or \"8.1.2\", not \"5\""},
      {"[compatibility]\ntimestamps = 'hours'",
       "2: compatibility.timestamps: must be \"seconds\" or \"milliseconds\", not \"hours\""},
  };
  for (const auto& [toml, expected] : cases) BOOST_TEST(complaint(toml) == expected);
}

BOOST_AUTO_TEST_CASE(what_is_no_toml_is_named_with_its_line) {
  for (const auto& [toml, line] : std::vector<std::pair<std::string, std::string>>{
           {"concurrency = 3\nconcurrency = 4", "2: "},
           {"\nconcurrency = ", "2: "},
           {"concurrency = 9223372036854775808", "1: "},
           {"tag = '\xff\xfe'", "1: "},
           {"tag = 'a\x01'", "1: "},
           {"x = " + std::string(100'000, '['), "1: "},
           {std::string("tag = 'a'\0", 10), "1: "},
       }) {
    BOOST_TEST(complaint(toml).starts_with(line), complaint(toml) << " does not begin with " << line);
  }
}

BOOST_AUTO_TEST_CASE(a_path_that_is_no_readable_file_is_refused_without_waiting) {
  const TemporaryDirectory directory;
  BOOST_TEST(complaint_about_path(directory / "missing") == directory / "missing: No such file or directory");
  BOOST_TEST(complaint_about_path(directory.path()) == directory.path() + ": is a directory, not a file");
  BOOST_TEST_REQUIRE(mkfifo((directory / "fifo").c_str(), 0600) == 0);
  BOOST_TEST(complaint_about_path(directory / "fifo") == directory / "fifo: is not a regular file");
  BOOST_TEST(complaint_about_path("/dev/zero") == "/dev/zero: is not a regular file");
  const std::string large = directory.write("large", std::string((1 << 20) + 1, '#'));
  BOOST_TEST(complaint_about_path(large) == large + ": is larger than 1 MB");
  BOOST_TEST(complaint_about_path(directory.write("fits", std::string(1 << 20, '#'))) == "");
}

BOOST_AUTO_TEST_CASE(how_tls_is_spoken_is_read_with_the_places_where_it_stands) {
  const TemporaryDirectory directory;
  const std::string path = directory.write("brood.toml",
                                           "[redis]\nurl = 'rediss://h'\nshare_with_jobs = 'password'\n[redis.tls]\n"
                                           "ca = '/ca'\ncert = 'credential:redis.pem'\nkey = '/key'\n"
                                           "server_name = 'redis.example.org'\nmin_version = '1.3'\n");
  const Config config = load_config(path, {});
  BOOST_TEST_REQUIRE(config.redis.tls.has_value());
  const TlsSettings& tls = *config.redis.tls;
  BOOST_TEST(tls.ca.path == "/ca");
  BOOST_TEST(tls.ca.place == path + ":5: redis.tls.ca");
  BOOST_TEST(tls.cert.path == "credential:redis.pem");
  BOOST_TEST(tls.key.place == path + ":7: redis.tls.key");
  BOOST_TEST(tls.server_name == "redis.example.org");
  BOOST_TEST((tls.min_version == TlsSettings::Version::tls_1_3));
  BOOST_TEST(config.redis.share_with_jobs);
  BOOST_TEST(config.redis.share_password_in_url);
  BOOST_TEST(config.warnings.empty());

  const std::string plain = directory.write("plain.toml", "[redis]\nurl = 'redis://h'\n[redis.tls]\n");
  BOOST_TEST_REQUIRE(load_config(plain, {}).warnings.size() == 1u);
  BOOST_TEST(load_config(plain, {}).warnings.front().find("TLS is not spoken") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(a_file_that_everybody_may_change_or_that_shows_a_password_is_warned_of) {
  const TemporaryDirectory directory;
  const std::string path = directory.write("brood.toml", "[redis]\nurl = 'redis://:secret@localhost'\n");
  chmod(path.c_str(), 0600);
  BOOST_TEST(load_config(path, {}).warnings.empty());
  chmod(path.c_str(), 0646);
  BOOST_TEST(load_config(path, {}).warnings ==
                 (std::vector<std::string>{path + " can be changed by every user of this machine",
                                           path + " holds a password and can be read by every user of this machine"}),
             boost::test_tools::per_element());
  const std::string harmless = directory.write("harmless.toml", "[redis]\nurl = 'redis://localhost:6379'\n");
  chmod(harmless.c_str(), 0644);
  BOOST_TEST(load_config(harmless, {}).warnings.empty());
}

BOOST_AUTO_TEST_CASE(the_command_line_wins_over_the_file) {
  ConfigOverrides overrides;
  overrides.concurrency = 2;
  overrides.queues = {"critical,3", "default,1"};
  overrides.require = {"/a.so"};
  overrides.shutdown_timeout = "8";
  overrides.environment = "staging";
  overrides.tag = "cli";
  overrides.redis_url = "embedded";
  overrides.log_format = "json";
  overrides.verbose = true;
  const Config config = load(
      "concurrency = 8\nqueues = ['images']\nrequire = ['/b.so', '/c.so']\nshutdown_timeout = 1\nenvironment = "
      "'production'\n"
      "tag = 'file'\n[redis]\nurl = 'redis://localhost'\n[log]\nlevel = 'error'\n[capsules.more]\nconcurrency = 1\n",
      overrides);
  BOOST_TEST(config.concurrency() == 3);
  BOOST_TEST(config.capsules[0].queues.weights().at("critical") == 3);
  BOOST_TEST(config.require == std::vector<std::string>{"/a.so"}, boost::test_tools::per_element());
  BOOST_CHECK(config.shutdown_timeout == 8s);
  BOOST_TEST(config.environment == "staging");
  BOOST_TEST(config.tag == "cli");
  BOOST_TEST(config.redis.url == "embedded");
  BOOST_CHECK(config.log.format == log::Format::json);
  BOOST_CHECK(config.log.level == log::Level::debug);
}

BOOST_AUTO_TEST_CASE(a_wrong_value_of_the_command_line_is_named_by_its_flag) {
  BOOST_TEST(complaint_about({.concurrency = 0}) == "--concurrency: must be between 1 and 10000, not 0");
  BOOST_TEST(complaint_about({.queues = {"*", "*"}}) ==
             "--queue: \"*\" takes every queue that no other entry names, and may stand there once");
  BOOST_TEST(complaint_about({.require = {""}}) == "--require: must not be empty");
  BOOST_TEST(complaint_about({.shutdown_timeout = "soon"}) ==
             "--timeout: must be a duration such as \"25s\", \"2m\" or \"1h30m\", not \"soon\"");
  BOOST_TEST(complaint_about({.shutdown_timeout = "0"}) == "--timeout: must be longer than 0");
  BOOST_TEST(complaint_about({.redis_url = "localhost"}) ==
             "--redis: must begin with redis://, rediss://, unix://, sentinel:// or cluster://, or be \"embedded\"");
  BOOST_TEST(complaint_about({.log_format = "xml"}) == "--log-format: must be \"text\" or \"json\", not \"xml\"");
}

BOOST_AUTO_TEST_CASE(the_environment_is_the_one_that_sidekiq_would_take) {
  setenv("RACK_ENV", "rack", 1);
  BOOST_TEST(load("").environment == "rack");
  setenv("RAILS_ENV", "rails", 1);
  BOOST_TEST(load("").environment == "rails");
  setenv("APP_ENV", "app", 1);
  BOOST_TEST(load("").environment == "app");
  BOOST_TEST(load("environment = 'file'").environment == "file");
  setenv("APP_ENV", "<b>", 1);
  BOOST_TEST(complaint_about({}) == "APP_ENV: \"<b>\" must be made of letters, digits and _ . : @ / - (at most 255)");
  for (const char* const name : {"APP_ENV", "RAILS_ENV", "RACK_ENV"}) unsetenv(name);
}

BOOST_AUTO_TEST_CASE(a_periodic_job_is_enabled_where_a_label_is) {
  const Config config = load(
      "labels = ['cron']\n[periodic.a]\ncron = '@daily'\nclass = 'A'\nenabled_on = ['cron', 'x']\n"
      "[periodic.b]\ncron = '@daily'\nclass = 'A'\nenabled_on = ['x']\n[periodic.c]\ncron = '@daily'\nclass = 'A'\n");
  BOOST_TEST(config.periodic.at("a").is_enabled_on(config.labels));
  BOOST_TEST(!config.periodic.at("b").is_enabled_on(config.labels));
  BOOST_TEST(config.periodic.at("c").is_enabled_on(config.labels));
  BOOST_TEST(complaint("[periodic.a]\ncron = '@daily'\nclass = 'A'\nenabled_on = []").find("names no label") !=
             std::string::npos);
}
