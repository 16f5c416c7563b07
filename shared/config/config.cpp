#include "shared/config/config.hpp"

#include <sched.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <thread>

#include "shared/base/log_line.hpp"
#include "shared/base/processors.hpp"
#include "shared/config/cap_section.hpp"
#include "shared/config/config_section.hpp"
#include "shared/config/encryption_section.hpp"
#include "shared/config/otlp_section.hpp"
#include "shared/config/statsd_section.hpp"
#include "shared/config/tls_section.hpp"
#include "shared/config/web_section.hpp"
#include "shared/scoreboard/scoreboard.hpp"

namespace brood {
namespace {

using namespace setting;
using std::chrono::milliseconds;
using namespace std::chrono_literals;

constexpr milliseconds year = 365 * 24h;

constexpr std::size_t most_shards = 64;
constexpr int most_shards_of_a_cluster = 256;
constexpr const char* nowhere_to_push = "all shards are drained, and none is left for new jobs";

ShardSettings read_shard(const Place& at, const ConfigSection& section) {
  ShardSettings shard;
  section.text("name", [&](const Place& name_at, const std::string& name) { shard.name = check_name(name_at, name); });
  section.text("url", [&](const Place& url_at, const std::string& url) {
    shard.url = check_redis_url(url_at, url);
    if (url == "embedded") url_at.refuse("an embedded Redis is the only one: each shard is a Redis of its own");
  });
  section.text("user", [&](const Place& user_at, const std::string& user) { shard.user = check_text(user_at, user); });
  section.text("password_file", [&](const Place& file_at, const std::string& path) {
    shard.password_file = read_path_or_credential(file_at, path);
  });
  section.boolean("drain", shard.drain);
  if (shard.url.empty()) at.refuse("needs url = \"redis://...\"");
  return shard;
}

void read_shards(const ConfigSection& section, std::vector<ShardSettings>& shards) {
  section.repeated_sections("shard", [&](const Place& at, const ConfigSection& one) {
    if (shards.size() == most_shards) at.refuse(fmt::format("there can be {} shards at most", most_shards));
    ShardSettings shard = read_shard(at, one);
    if (shard.name.empty()) shard.name = std::to_string(shards.size());
    for (const ShardSettings& other : shards) {
      if (other.name == shard.name) at.refuse(fmt::format("two shards have the name \"{}\"", shard.name));
      if (other.url == shard.url)
        at.refuse(fmt::format("shard {} has the same url as shard {}", shard.name, other.name));
    }
    shards.push_back(std::move(shard));
  });
  if (!shards.empty() && std::all_of(shards.begin(), shards.end(), [](const auto& shard) { return shard.drain; }))
    section.where_is("shard").refuse(nowhere_to_push);
}

// Of a cluster's.
void read_drain(const ConfigSection& section, RedisSettings& redis) {
  section.counts("drain", 0, redis.shards - 1, [&](const Place& at, std::int64_t number) {
    const int shard = static_cast<int>(number);
    if (std::find(redis.drain.begin(), redis.drain.end(), shard) != redis.drain.end())
      at.refuse(fmt::format("names the shard {} twice", shard));
    redis.drain.push_back(shard);
  });
  if (!section.has("drain")) return;
  if (!redis.url.starts_with("cluster://"))
    section.where_is("drain").refuse(
        "is for url = \"cluster://...\" alone; of several Redis servers a [[redis.shard]] has drain = true");
  if (redis.drain.size() == static_cast<std::size_t>(redis.shards)) section.where_is("drain").refuse(nowhere_to_push);
}

void read_share_with_jobs(const ConfigSection& section, RedisSettings& redis) {
  section.truth_or_text(
      "share_with_jobs", [&](bool shares) { redis.share_with_jobs = shares; },
      [&](const Place& at, const std::string& word) {
        if (word != "password") at.refuse("must be true, false or \"password\", not \"" + word + "\"");
        redis.share_password_in_url = true;
      });
}

void read_redis(const ConfigSection& section, RedisSettings& redis) {
  section.text("url", [&](const Place& at, const std::string& url) { redis.url = check_redis_url(at, url); });
  section.text("user", [&](const Place& at, const std::string& user) { redis.user = check_text(at, user); });
  section.text("password_file", [&](const Place& at, const std::string& path) {
    redis.password_file = read_path_or_credential(at, path);
  });
  section.text("appendfsync",
               [&](const Place& at, const std::string& word) { redis.appendfsync = read_appendfsync(at, word); });
  section.section("sentinel", [&](const ConfigSection& sentinel) {
    sentinel.text("user",
                  [&](const Place& at, const std::string& user) { redis.sentinel.user = check_text(at, user); });
    sentinel.text("password_file", [&](const Place& at, const std::string& path) {
      redis.sentinel.password_file = read_path_or_credential(at, path);
    });
  });
  section.count("wait", redis.wait, 0, 100);
  section.duration("wait_timeout", redis.wait_timeout, 1ms, 60'000ms);
  read_share_with_jobs(section, redis);
  section.section("tls", [&](const ConfigSection& tls) { read_tls(tls, redis.tls.emplace()); });
  section.duration("give_up_after", redis.give_up_after, 0ms, year);
  read_shards(section, redis.shard_list);
  if (!redis.shard_list.empty() && section.has("url"))
    section.where_is("url").refuse("beside [[redis.shard]] there is no other Redis: make it a shard too");
  section.count("shards", redis.shards, 1, most_shards_of_a_cluster);
  if (section.has("shards") && !redis.url.starts_with("cluster://"))
    section.where_is("shards").refuse(
        "is for url = \"cluster://...\" alone; several Redis servers are a [[redis.shard]] each");
  read_drain(section, redis);
}

void read_log(const ConfigSection& section, Config& config) {
  section.text("level", [&](const Place& at, const std::string& word) { config.log.level = read_level(at, word); });
  section.text("format", [&](const Place& at, const std::string& word) { config.log.format = read_format(at, word); });
  section.text("file", [&](const Place& at, const std::string& path) { config.log.file = check_text(at, path); });
  section.boolean("log_jobs", config.log_jobs);
}

LeftThreads read_left_threads(const Place& at, const std::string& word) {
  if (word != "replace" && word != "allow") at.refuse("must be \"replace\" or \"allow\", not \"" + word + "\"");
  return word == "allow" ? LeftThreads::allow : LeftThreads::replace;
}

Isolation read_isolation(const Place& at, const std::string& word) {
  if (word != "worker" && word != "process") at.refuse("must be \"worker\" or \"process\", not \"" + word + "\"");
  return word == "process" ? Isolation::process : Isolation::worker;
}

ExpiredJobs read_expired(const Place& at, const std::string& word) {
  if (word != "drop" && word != "dead") at.refuse("must be \"drop\" or \"dead\", not \"" + word + "\"");
  return word == "dead" ? ExpiredJobs::dead : ExpiredJobs::drop;
}

void read_class(const std::string& name, const Place& at, const ConfigSection& section, ClassSettings& job_class) {
  check_class_name(at, name);
  section.text("threads", [&](const Place& threads_at, const std::string& word) {
    job_class.threads = read_left_threads(threads_at, word);
  });
  section.text("isolation", [&](const Place& isolation_at, const std::string& word) {
    job_class.isolation = read_isolation(isolation_at, word);
  });
  section.text("expired", [&](const Place& expired_at, const std::string& word) {
    job_class.expired = read_expired(expired_at, word);
  });
  section.section("sandbox", [&](const ConfigSection& sandbox) { job_class.sandbox = read_sandbox(sandbox); });
  if (!job_class.sandbox) return;
  if (job_class.isolation == Isolation::worker)
    at.refuse("a sandbox needs isolation = \"process\": it is left only by the end of a process");
  job_class.isolation = Isolation::process;
}

void read_scheduler(const ConfigSection& section, Config& config) {
  section.text("queues", [&](const Place& at, const std::string& word) {
    config.leaves_due_jobs_to_ruby = read_scheduled_queues(at, word) == ScheduledQueues::own;
  });
}

void read_preload(const ConfigSection& section, WorkerSettings& worker) {
  section.truth_or_text(
      "preload", [&](bool preload) { worker.preload = preload ? Preload::always : Preload::never; },
      [&](const Place& at, const std::string& word) {
        if (word != "auto") at.refuse("must be \"auto\", true or false, not \"" + word + "\"");
        worker.preload = Preload::automatic;
      });
}

void read_restart(const ConfigSection& section, RestartSettings& restart) {
  section.boolean("canary", restart.canary);
  section.duration("canary_watch", restart.canary_watch, 0ms, 24h);
}

void read_crashes(const ConfigSection& section, CrashSettings& crashes) {
  section.count("quarantine_after", crashes.quarantine_after, 0, 1'000);
  section.duration("within", crashes.within, 1s, 24h);
}

void read_pressure(const ConfigSection& section, PressureSettings& pressure) {
  section.count("memory", pressure.memory, 0, 100);
  section.text("proc", [&](const Place& at, const std::string& path) { pressure.proc = read_path(at, path); });
  section.text("cgroup", [&](const Place& at, const std::string& path) { pressure.cgroup = read_path(at, path); });
}

void read_worker(const ConfigSection& section, WorkerSettings& worker) {
  section.count("max_jobs", worker.max_jobs, 0, std::numeric_limits<std::int64_t>::max());
  section.size("max_rss", worker.max_rss_bytes);
  section.size("memory_limit", worker.memory_limit_bytes);
  section.duration("job_timeout", worker.job_timeout, 0ms, year);
  section.duration("timeout_grace", worker.timeout_grace, 0ms, 1h);
  section.count("max_crashes", worker.max_crashes, 1, 1'000);
  section.count("max_batch", worker.max_batch, 1, max_batch_entries);
  section.boolean("seccomp", worker.seccomp);
  section.text("threads",
               [&](const Place& at, const std::string& word) { worker.threads = read_left_threads(at, word); });
  read_preload(section, worker);
}

using CheckWord = std::string (*)(const Place&, const std::string&);

void read_words(const ConfigSection& section, CommandSettings& command, CheckWord check_word) {
  section.texts("run", [&](const Place& word_at, const std::string& word) {
    if (command.run.empty()) command.place = word_at.name;
    command.run.push_back(command.run.empty() ? read_program(word_at, word) : check_word(word_at, word));
  });
  section.named_texts("env", [&](const Place& entry_at, const std::string& variable, const std::string& value) {
    command.env[check_variable(entry_at, variable)] = check_no_nul(entry_at, value);
  });
  section.text("directory", [&](const Place& directory_at, const std::string& path) {
    command.directory = read_path(directory_at, path);
  });
}

void read_command(const std::string& name, const Place& at, const ConfigSection& section, CommandSettings& command) {
  check_class_name(at, name);
  read_words(section, command, check_command_word);
  if (command.run.empty()) at.refuse("needs run = [\"program\", \"argument\", ...]");
  section.duration("timeout", command.timeout, 0ms, year);
}

void read_error_program(const ConfigSection& section, std::optional<CommandSettings>& on_error) {
  CommandSettings program;
  program.timeout = 3s;
  read_words(section, program, check_no_nul);
  section.duration("timeout", program.timeout, 1ms, 1min);
  if (!program.run.empty()) on_error = std::move(program);
}

void read_compatibility(const ConfigSection& section, CompatibilitySettings& compatibility) {
  section.text("sidekiq", [&](const Place& at, const std::string& release) {
    compatibility.sidekiq = SidekiqRelease::parse(release);
    if (!compatibility.sidekiq)
      at.refuse("must be a release such as \"6\", \"7.3\" or \"8.1.2\", not \"" + release + "\"");
  });
  section.text("timestamps",
               [&](const Place& at, const std::string& unit) { compatibility.timestamps = read_time_unit(at, unit); });
  section.boolean("sidekiq_unique_jobs", compatibility.serves_unique_jobs_gem);
}

// Of Redis servers or shards.
std::int64_t shard_count(const Config& config) {
  if (config.redis.url.starts_with("cluster://")) return config.redis.shards;
  return std::max<std::int64_t>(static_cast<std::int64_t>(config.redis.shard_list.size()), 1);
}

int cpus_allowed_to_us() {
  cpu_set_t cpus;
  if (sched_getaffinity(0, sizeof cpus, &cpus) == 0) return usable_processors(CPU_COUNT(&cpus));
  return usable_processors(static_cast<int>(std::thread::hardware_concurrency()));  // more CPUs than the set has bits
}

void read_capsules(const ConfigSection& root, Config& config) {
  root.named_sections("capsules", [&](const std::string& name, const Place& at, const ConfigSection& section) {
    if (name == "default") at.refuse("the default capsule is set by the top-level concurrency and queues");
    const int usual = config.capsules[0].concurrency;
    CapsuleSettings capsule{.name = name, .concurrency = usual > 0 ? usual : cpus_allowed_to_us()};
    section.count("concurrency", capsule.concurrency, 1, most_workers);
    section.queues(capsule);
    capsule.worker = config.worker;
    read_worker(section, *capsule.worker);
    config.capsules.push_back(std::move(capsule));
  });
}

void read_sections(const ConfigSection& root, Config& config) {
  // The default capsule may be without workers only when there are others.
  root.count("concurrency", config.capsules[0].concurrency, root.has("capsules") ? 0 : 1, most_workers);
  root.queues(config.capsules[0]);
  root.texts("require",
             [&](const Place& at, const std::string& path) { config.require.push_back(read_path(at, path)); });
  root.duration("shutdown_timeout", config.shutdown_timeout, 1ms, year);
  root.duration("boot_timeout", config.boot_timeout, 100ms, year);
  root.text("environment",
            [&](const Place& at, const std::string& name) { config.environment = check_name(at, name); });
  root.text("tag", [&](const Place& at, const std::string& tag) { config.tag = check_name(at, tag); });
  root.duration("poll_interval", config.poll_interval, 10ms, 24h);
  root.count("max_retries", config.max_retries, 0, 1'000'000);
  root.count("max_unavailable", config.max_unavailable, 1, most_workers);
  root.boolean("metrics", config.metrics);
  root.duration("max_iteration_runtime", config.max_iteration_runtime, 0ms, year);
  root.text("expired", [&](const Place& at, const std::string& word) { config.expired = read_expired(at, word); });
  root.texts("labels",
             [&](const Place& at, const std::string& label) { config.labels.push_back(check_name(at, label)); });
  root.count("dead_max_jobs", config.dead_max_jobs, 1, 1'000'000'000);
  root.duration("dead_timeout", config.dead_timeout, 1s, 100 * year);
  root.section("redis", [&](const ConfigSection& section) { read_redis(section, config.redis); });
  root.section("scheduler", [&](const ConfigSection& section) { read_scheduler(section, config); });
  root.section("restart", [&](const ConfigSection& section) { read_restart(section, config.restart); });
  root.section("pressure", [&](const ConfigSection& section) { read_pressure(section, config.pressure); });
  root.section("crashes", [&](const ConfigSection& section) { read_crashes(section, config.crashes); });
  root.section("web", [&](const ConfigSection& section) { read_web(section, config.web); });
  root.section("statsd", [&](const ConfigSection& section) { read_statsd(section, config.statsd); });
  root.section("otlp", [&](const ConfigSection& section) { read_otlp(section, config.otlp); });
  root.section("encryption", [&](const ConfigSection& section) { read_encryption(section, config.encryption); });
  root.section("periodic", [&](const ConfigSection& section) { read_periodic_jobs(section, config); });
  root.section("log", [&](const ConfigSection& section) { read_log(section, config); });
  root.section("worker", [&](const ConfigSection& section) { read_worker(section, config.worker); });
  root.named_sections("classes", [&](const std::string& name, const Place& at, const ConfigSection& section) {
    read_class(name, at, section, config.classes[name]);
  });
  root.named_sections("commands", [&](const std::string& name, const Place& at, const ConfigSection& section) {
    read_command(name, at, section, config.commands[name]);
  });
  root.section("on_error", [&](const ConfigSection& section) { read_error_program(section, config.on_error); });
  root.section("compatibility",
               [&](const ConfigSection& section) { read_compatibility(section, config.compatibility); });
  read_capsules(root, config);
  const std::vector<CapSettings> caps = read_caps(root, shard_count(config));
  for (CapsuleSettings& capsule : config.capsules) capsule.caps = caps;
  if (config.capsules.size() == 1) root.count("concurrency", config.capsules[0].concurrency, 1, most_workers);
}

bool holds_password(const std::string& url) {
  const std::size_t at = url.find('@');
  return at != std::string::npos && url.substr(0, at).find(':', url.find("://") + 3) != std::string::npos;
}

void warn_of_permissions(const std::string& path, mode_t mode, Config& config) {
  const std::string shown = log::printable(path);
  if (mode & S_IWOTH) config.warnings.push_back(shown + " can be changed by every user of this machine");
  const auto& shards = config.redis.shard_list;
  const bool one_holds_a_password =
      holds_password(config.redis.url) ||
      std::any_of(shards.begin(), shards.end(), [](const ShardSettings& shard) { return holds_password(shard.url); });
  if ((mode & S_IROTH) && one_holds_a_password)
    config.warnings.push_back(shown + " holds a password and can be read by every user of this machine");
}

void read_file(const std::string& path, const ConfigFile& file, Config& config) {
  parse_config(path, file.text, [&](const ConfigSection& root) { read_sections(root, config); });
  const std::string& url = config.redis.url;
  if (config.redis.tls && (url.starts_with("redis://") || url.starts_with("unix:") || url.starts_with('/')))
    config.warnings.push_back(
        log::printable(path) +
        " has a section [redis.tls], but the address of Redis is no rediss://: TLS is not spoken");
  if (config.otlp.tls && config.otlp.endpoint.starts_with("http:"))
    config.warnings.push_back(
        log::printable(path) +
        " has a section [otlp.tls], but the collector's endpoint is no https://: TLS is not spoken");
  warn_of_permissions(path, file.mode, config);
  config.file = file;
}

void apply(const ConfigOverrides& overrides, Config& config) {
  CapsuleSettings& default_capsule = config.capsules[0];
  if (overrides.concurrency) {
    const int least = config.capsules.size() > 1 ? 0 : 1;
    default_capsule.concurrency =
        static_cast<int>(check_count({"--concurrency"}, *overrides.concurrency, least, most_workers));
  }
  if (!overrides.queues.empty()) {
    std::vector<QueueOrder::Entry> entries;
    for (const std::string& queue : overrides.queues) entries.push_back(read_queue({"--queue"}, queue));
    set_queues({"--queue"}, default_capsule, std::move(entries));
  }
  if (!overrides.require.empty()) config.require.clear();
  for (const std::string& path : overrides.require) config.require.push_back(read_path({"--require"}, path));
  if (overrides.shutdown_timeout) {
    const Place place{"--timeout"};
    config.shutdown_timeout = check_duration(place, read_duration(place, *overrides.shutdown_timeout), 1ms, year);
  }
  if (overrides.environment) config.environment = check_name({"--environment"}, *overrides.environment);
  if (overrides.tag) config.tag = check_name({"--tag"}, *overrides.tag);
  if (overrides.redis_url) {
    config.redis.url = check_redis_url({"--redis"}, *overrides.redis_url);
    config.redis.shard_list.clear();
  }
  if (overrides.log_format) config.log.format = read_format({"--log-format"}, *overrides.log_format);
  if (overrides.verbose) config.log.level = log::Level::debug;
}

std::string environment_of_sidekiq() {
  for (const char* const variable : {"APP_ENV", "RAILS_ENV", "RACK_ENV"}) {
    const char* const value = std::getenv(variable);
    if (value && *value) return check_name({variable}, value);
  }
  return "development";
}

}  // namespace

std::optional<TimeUnit> CompatibilitySettings::time_unit() const {
  if (timestamps) return timestamps;
  return sidekiq ? std::optional(sidekiq->time_unit()) : std::nullopt;
}

int Config::concurrency() const {
  int workers = 0;
  for (const CapsuleSettings& capsule : capsules) workers += capsule.concurrency;
  return workers;
}

const WorkerSettings& Config::worker_of(int capsule) const {
  const std::optional<WorkerSettings>& own = capsules.at(static_cast<std::size_t>(capsule)).worker;
  return own ? *own : worker;
}

Config load_config(const std::string& path, const ConfigOverrides& overrides) {
  return load_config(path, path.empty() ? ConfigFile{} : read_config_file(path), overrides);
}

Config load_config(const std::string& path, const ConfigFile& file, const ConfigOverrides& overrides) {
  Config config;
  config.capsules.push_back({.name = "default", .concurrency = cpus_allowed_to_us()});
  config.environment.clear();
  if (!path.empty()) read_file(path, file, config);
  apply(overrides, config);
  if (config.environment.empty()) config.environment = environment_of_sidekiq();
  check_count({"concurrency of all capsules together"}, config.concurrency(), 1, most_workers);
  return config;
}

}  // namespace brood
