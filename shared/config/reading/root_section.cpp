#include "shared/config/reading/root_section.hpp"

#include <algorithm>
#include <utility>

#include "shared/base/processors.hpp"
#include "shared/config/reading/cap_section.hpp"
#include "shared/config/reading/class_section.hpp"
#include "shared/config/reading/command_section.hpp"
#include "shared/config/reading/encryption_section.hpp"
#include "shared/config/reading/error_section.hpp"
#include "shared/config/reading/otlp_section.hpp"
#include "shared/config/reading/periodic_section.hpp"
#include "shared/config/reading/redis_section.hpp"
#include "shared/config/reading/statsd_section.hpp"
#include "shared/config/reading/tenant_section.hpp"
#include "shared/config/reading/web_section.hpp"
#include "shared/config/reading/worker_section.hpp"

namespace brood {
namespace {

using namespace setting;
using namespace std::chrono_literals;

void read_log(const ConfigSection& section, Config& config) {
  section.text("level", [&](const Place& at, const std::string& word) { config.log.level = read_level(at, word); });
  section.text("format", [&](const Place& at, const std::string& word) { config.log.format = read_format(at, word); });
  section.text("file", [&](const Place& at, const std::string& path) { config.log.file = check_text(at, path); });
  section.boolean("log_jobs", config.log_jobs);
}

void read_scheduler(const ConfigSection& section, Config& config) {
  section.text("queues", [&](const Place& at, const std::string& word) {
    config.leaves_due_jobs_to_ruby = read_scheduled_queues(at, word) == ScheduledQueues::own;
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

// Counts Redis servers or shards.
std::int64_t shard_count(const Config& config) {
  if (config.redis.url.starts_with("cluster://")) return config.redis.shards;
  return std::max<std::int64_t>(static_cast<std::int64_t>(config.redis.shard_list.size()), 1);
}

void read_capsules(const ConfigSection& root, Config& config) {
  root.named_sections("capsules", [&](const std::string& name, const Place& at, const ConfigSection& section) {
    if (name == "default") at.refuse("the default capsule is set by the top-level concurrency and queues");
    const int usual = config.capsules[0].concurrency;
    CapsuleSettings capsule{.name = name, .concurrency = usual > 0 ? usual : usable_processors()};
    section.count("concurrency", capsule.concurrency, 1, Config::most_workers);
    section.queues(capsule);
    capsule.worker = config.worker;
    read_worker(section, *capsule.worker);
    config.capsules.push_back(std::move(capsule));
  });
}

}  // namespace

void read_root(const ConfigSection& root, Config& config) {
  // The default capsule may be without workers only when there are others.
  root.count("concurrency", config.capsules[0].concurrency, root.has("capsules") ? 0 : 1, Config::most_workers);
  root.queues(config.capsules[0]);
  root.texts("require",
             [&](const Place& at, const std::string& path) { config.require.push_back(read_path(at, path)); });
  root.duration("shutdown_timeout", config.shutdown_timeout, 1ms, longest_time);
  root.duration("boot_timeout", config.boot_timeout, 100ms, longest_time);
  root.text("environment",
            [&](const Place& at, const std::string& name) { config.environment = check_name(at, name); });
  root.text("tag", [&](const Place& at, const std::string& tag) { config.tag = check_name(at, tag); });
  root.duration("poll_interval", config.poll_interval, 10ms, 24h);
  root.count("max_retries", config.max_retries, 0, 1'000'000);
  root.count("max_unavailable", config.max_unavailable, 1, Config::most_workers);
  root.boolean("metrics", config.metrics);
  root.duration("max_iteration_runtime", config.max_iteration_runtime, 0ms, longest_time);
  root.text("expired", [&](const Place& at, const std::string& word) { config.expired = read_expired(at, word); });
  root.texts("labels",
             [&](const Place& at, const std::string& label) { config.labels.push_back(check_name(at, label)); });
  root.count("dead_max_jobs", config.dead_max_jobs, 1, 1'000'000'000);
  root.duration("dead_timeout", config.dead_timeout, 1s, 100 * longest_time);
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
    ShowArgs shown = ShowArgs::none;
    read_show_args(section, shown);
    if (section.has("show_args")) config.web.show_args.of_class[name] = shown;
  });
  root.named_sections("commands", [&](const std::string& name, const Place& at, const ConfigSection& section) {
    read_command(name, at, section, config.commands[name]);
  });
  root.section("on_error", [&](const ConfigSection& section) { read_on_error(section, config); });
  root.section("compatibility",
               [&](const ConfigSection& section) { read_compatibility(section, config.compatibility); });
  read_capsules(root, config);
  const std::vector<CapSettings> caps = read_caps(root, shard_count(config));
  const TenantWeights weights = read_tenant_weights(root);
  for (CapsuleSettings& capsule : config.capsules) {
    capsule.caps = with_caps_of_listed_tenants(caps, capsule.queues);
    capsule.tenant_weights = weights;
  }
  const int least = config.capsules.size() == 1 ? 1 : 0;  // [capsules] may be empty
  root.count("concurrency", config.capsules[0].concurrency, least, Config::most_workers);
}

}  // namespace brood
