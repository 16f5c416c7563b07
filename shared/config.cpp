#include "shared/config.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sched.h>
#include <sys/stat.h>
#include <toml++/toml.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <functional>
#include <limits>
#include <thread>

#include "shared/log_line.hpp"
#include "shared/nearest.hpp"
#include "shared/scoreboard.hpp"
#include "shared/setting.hpp"
#include "shared/unique_fd.hpp"

namespace brood {
namespace {

using namespace setting;
using std::chrono::milliseconds;
using namespace std::chrono_literals;

constexpr std::size_t largest_file = 1 << 20;
constexpr milliseconds year = 365 * 24h;

const std::vector<std::string> keys_of_workers = {"max_jobs",      "max_rss",     "memory_limit", "job_timeout",
                                                  "timeout_grace", "max_crashes", "max_batch",    "seccomp"};

std::vector<std::string> with_keys_of_workers(std::vector<std::string> keys) {
  keys.insert(keys.end(), keys_of_workers.begin(), keys_of_workers.end());
  return keys;
}

// Every section and its keys.  A section that names its entries itself has the name "*".
const std::map<std::string, std::vector<std::string>> known_keys = {
    {"",
     {"concurrency", "queues", "require", "shutdown_timeout", "environment", "tag", "poll_interval", "max_retries",
      "max_unavailable", "metrics", "max_iteration_runtime", "labels", "dead_max_jobs", "dead_timeout", "redis", "log",
      "worker", "capsules", "commands"}},
    {"redis", {"url", "user", "password_file"}},
    {"log", {"level", "format", "file", "log_jobs"}},
    {"worker", keys_of_workers},
    {"capsules.*", with_keys_of_workers({"concurrency", "queues"})},
    {"commands.*", {"run", "timeout", "env", "directory"}},
};

// What Sidekiq calls our keys.
const std::map<std::string, std::string> names_of_sidekiq = {
    {"timeout", "shutdown_timeout"},
    {"average_scheduled_poll_interval", "poll_interval"},
    {"dead_timeout_in_seconds", "dead_timeout"},
    {"skip_default_job_logging", "log.log_jobs"},
    {"logfile", "log.file"},
    {"verbose", "log.level"},
};

std::string_view kind_of(const toml::node& node) {
  switch (node.type()) {
    case toml::node_type::string:
      return "a string";
    case toml::node_type::integer:
      return "an integer";
    case toml::node_type::floating_point:
      return "a float";
    case toml::node_type::boolean:
      return "a boolean";
    case toml::node_type::array:
      return "an array";
    case toml::node_type::table:
      return "a table";
    default:
      return "a date or time";
  }
}

// One table of the file.  Reading a key that is absent leaves its target alone.
class Section {
 public:
  // `kind` is the section's name in known_keys: "capsules.*" for the section "capsules.images".
  Section(const std::string& file, std::string name, const std::string& kind, const toml::table& table)
      : file_(file), name_(std::move(name)), table_(table) {
    const std::vector<std::string>& known = known_keys.at(kind);
    for (const auto& [key, node] : table_) {
      if (std::find(known.begin(), known.end(), key.str()) == known.end())
        refuse_unknown(std::string(key.str()), key.source(), known);
    }
  }

  Place place(const std::string& key, const toml::node& node) const { return place(key, node.source()); }

  bool has(const std::string& key) const { return table_.contains(key); }

  void count(const std::string& key, auto& out, std::int64_t least, std::int64_t most) const {
    read(key, [&](const Place& at, const toml::node& node) {
      if (!node.is_integer()) wrong_kind(at, "an integer", node);
      out = static_cast<std::remove_reference_t<decltype(out)>>(check_count(at, node.as_integer()->get(), least, most));
    });
  }

  void boolean(const std::string& key, bool& out) const {
    read(key, [&](const Place& at, const toml::node& node) {
      if (!node.is_boolean()) wrong_kind(at, "true or false", node);
      out = node.as_boolean()->get();
    });
  }

  void text(const std::string& key, const std::function<void(const Place&, const std::string&)>& take) const {
    read(key, [&](const Place& at, const toml::node& node) { take(at, string_of(at, node)); });
  }

  void texts(const std::string& key, const std::function<void(const Place&, const std::string&)>& take) const {
    read(key, [&](const Place& at, const toml::node& node) {
      if (!node.is_array()) wrong_kind(at, "an array of strings", node);
      for (const toml::node& element : *node.as_array())
        take(place(key, element), string_of(place(key, element), element));
    });
  }

  void duration(const std::string& key, auto& out, milliseconds least, milliseconds most) const {
    read(key, [&](const Place& at, const toml::node& node) {
      const milliseconds read = check_duration(at, duration_of(at, node), least, most);
      out = std::chrono::duration_cast<std::remove_reference_t<decltype(out)>>(read);
    });
  }

  void size(const std::string& key, std::uint64_t& out) const {
    read(key, [&](const Place& at, const toml::node& node) {
      if (!node.is_integer() && !node.is_string()) wrong_kind(at, "a size such as \"512M\"", node);
      out =
          read_memory_limit(at, node.is_integer() ? std::to_string(node.as_integer()->get()) : node.as_string()->get());
    });
  }

  // ["critical", "default,2"] or [["critical", 5], ["default", 1]].
  void queues(CapsuleSettings& capsule) const {
    read("queues", [&](const Place& at, const toml::node& node) {
      if (!node.is_array()) wrong_kind(at, "an array of queues", node);
      std::vector<QueueOrder::Entry> entries;
      for (const toml::node& element : *node.as_array()) entries.push_back(queue_of(place("queues", element), element));
      set_queues(at, capsule, std::move(entries));
    });
  }

  // A table of strings whose keys are free.
  void named_texts(const std::string& key,
                   const std::function<void(const Place&, const std::string&, const std::string&)>& take) const {
    read(key, [&](const Place& at, const toml::node& node) {
      for (const auto& [name, entry] : table_of(at, node)) {
        const Place entry_place = place(key + "." + std::string(name.str()), entry);
        take(entry_place, std::string(name.str()), string_of(entry_place, entry));
      }
    });
  }

  void section(const std::string& key, const std::function<void(const Section&)>& take) const {
    read(key, [&](const Place& at, const toml::node& node) { take(Section(file_, key, key, table_of(at, node))); });
  }

  // [capsules.images], [capsules.mail]: a section for each name.
  void named_sections(const std::string& key,
                      const std::function<void(const std::string&, const Place&, const Section&)>& take) const {
    read(key, [&](const Place& at, const toml::node& node) {
      for (const auto& [name, entry] : table_of(at, node)) {
        const std::string full_name = key + "." + std::string(name.str());
        const Place entry_place = place(full_name, entry);
        check_name(entry_place, std::string(name.str()));
        take(std::string(name.str()), entry_place, Section(file_, full_name, key + ".*", table_of(entry_place, entry)));
      }
    });
  }

 private:
  Place place(const std::string& key, const toml::source_region& source) const {
    return {fmt::format("{}:{}: {}", file_, source.begin.line, name_.empty() ? key : name_ + "." + key)};
  }

  void read(const std::string& key, const std::function<void(const Place&, const toml::node&)>& take) const {
    if (const toml::node* const node = table_.get(key)) take(place(key, *node), *node);
  }

  [[noreturn]] static void wrong_kind(const Place& at, std::string_view wanted, const toml::node& node) {
    at.refuse(fmt::format("must be {}, not {}", wanted, kind_of(node)));
  }

  static std::string string_of(const Place& at, const toml::node& node) {
    if (!node.is_string()) wrong_kind(at, "a string", node);
    return node.as_string()->get();
  }

  static const toml::table& table_of(const Place& at, const toml::node& node) {
    if (!node.is_table()) wrong_kind(at, "a table", node);
    return *node.as_table();
  }

  static milliseconds duration_of(const Place& at, const toml::node& node) {
    if (node.is_string()) return read_duration(at, node.as_string()->get());
    if (node.is_integer()) {
      const std::int64_t seconds = node.as_integer()->get();
      if (seconds < 0) at.refuse("must not be negative");
      return read_duration(at, std::to_string(seconds));
    }
    if (node.is_floating_point()) {
      const double seconds = node.as_floating_point()->get();
      if (!(seconds >= 0 && seconds < 1e9)) at.refuse("must be a number of seconds");
      return milliseconds(std::llround(seconds * 1000));
    }
    wrong_kind(at, "a duration such as \"25s\"", node);
  }

  static QueueOrder::Entry queue_of(const Place& at, const toml::node& node) {
    if (node.is_string()) return read_queue(at, node.as_string()->get());
    const toml::array* const pair = node.as_array();
    const bool is_pair = pair && pair->size() == 2 && (*pair)[0].is_string() && (*pair)[1].is_integer();
    if (!is_pair) at.refuse("a queue must be \"name\", \"name,weight\" or [\"name\", weight]");
    const std::string name = (*pair)[0].as_string()->get();
    if (name.find(',') != std::string::npos) at.refuse("the weight is given twice");
    return read_queue(at, fmt::format("{},{}", name, (*pair)[1].as_integer()->get()));
  }

  [[noreturn]] void refuse_unknown(const std::string& key, const toml::source_region& source,
                                   const std::vector<std::string>& known) const {
    std::optional<std::string> meant = nearest(key, known);
    const auto sidekiq = names_of_sidekiq.find(key);
    if (!meant && sidekiq != names_of_sidekiq.end()) meant = sidekiq->second;
    // Backwards, so that the general section comes before the capsules.
    for (auto known_one = known_keys.rbegin(); known_one != known_keys.rend(); ++known_one) {
      const auto& [section, keys] = *known_one;
      if (!meant && !section.empty() && std::find(keys.begin(), keys.end(), key) != keys.end())
        meant = section + "." + key;
    }
    const std::string hint = meant ? fmt::format("; did you mean \"{}\"?", *meant) : "";
    place(key, source).refuse("unknown key" + hint);
  }

  const std::string& file_;
  std::string name_;
  const toml::table& table_;
};

void read_redis(const Section& section, RedisSettings& redis) {
  section.text("url", [&](const Place& at, const std::string& url) { redis.url = check_redis_url(at, url); });
  section.text("user", [&](const Place& at, const std::string& user) { redis.user = check_text(at, user); });
  section.text("password_file",
               [&](const Place& at, const std::string& path) { redis.password_file = check_text(at, path); });
}

void read_log(const Section& section, Config& config) {
  section.text("level", [&](const Place& at, const std::string& word) { config.log.level = read_level(at, word); });
  section.text("format", [&](const Place& at, const std::string& word) { config.log.format = read_format(at, word); });
  section.text("file", [&](const Place& at, const std::string& path) { config.log.file = check_text(at, path); });
  section.boolean("log_jobs", config.log_jobs);
}

void read_worker(const Section& section, WorkerSettings& worker) {
  section.count("max_jobs", worker.max_jobs, 0, std::numeric_limits<std::int64_t>::max());
  section.size("max_rss", worker.max_rss_bytes);
  section.size("memory_limit", worker.memory_limit_bytes);
  section.duration("job_timeout", worker.job_timeout, 0ms, year);
  section.duration("timeout_grace", worker.timeout_grace, 0ms, 1h);
  section.count("max_crashes", worker.max_crashes, 1, 1'000);
  section.count("max_batch", worker.max_batch, 1, max_batch_entries);
  section.boolean("seccomp", worker.seccomp);
}

void read_command(const std::string& name, const Place& at, const Section& section, CommandSettings& command) {
  check_class_name(at, name);
  section.texts("run", [&](const Place& word_at, const std::string& word) {
    if (command.run.empty()) command.place = word_at.name;
    command.run.push_back(command.run.empty() ? read_program(word_at, word) : check_command_word(word_at, word));
  });
  if (command.run.empty()) at.refuse("needs run = [\"program\", \"argument\", ...]");
  section.duration("timeout", command.timeout, 0ms, year);
  section.named_texts("env", [&](const Place& entry_at, const std::string& variable, const std::string& value) {
    command.env[check_variable(entry_at, variable)] = check_no_nul(entry_at, value);
  });
  section.text("directory", [&](const Place& directory_at, const std::string& path) {
    command.directory = read_path(directory_at, path);
  });
}

int cpus_allowed_to_us() {
  cpu_set_t cpus;
  if (sched_getaffinity(0, sizeof cpus, &cpus) == 0) return CPU_COUNT(&cpus);
  return std::max(1, static_cast<int>(std::thread::hardware_concurrency()));  // more CPUs than the set has bits
}

void read_capsules(const Section& root, Config& config) {
  root.named_sections("capsules", [&](const std::string& name, const Place& at, const Section& section) {
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

void read_sections(const Section& root, Config& config) {
  // Only beside others may the default capsule be without workers.
  root.count("concurrency", config.capsules[0].concurrency, root.has("capsules") ? 0 : 1, most_workers);
  root.queues(config.capsules[0]);
  root.texts("require",
             [&](const Place& at, const std::string& path) { config.require.push_back(read_path(at, path)); });
  root.duration("shutdown_timeout", config.shutdown_timeout, 1ms, year);
  root.text("environment",
            [&](const Place& at, const std::string& name) { config.environment = check_name(at, name); });
  root.text("tag", [&](const Place& at, const std::string& tag) { config.tag = check_name(at, tag); });
  root.duration("poll_interval", config.poll_interval, 10ms, 24h);
  root.count("max_retries", config.max_retries, 0, 1'000'000);
  root.count("max_unavailable", config.max_unavailable, 1, most_workers);
  root.boolean("metrics", config.metrics);
  root.duration("max_iteration_runtime", config.max_iteration_runtime, 0ms, year);
  root.texts("labels",
             [&](const Place& at, const std::string& label) { config.labels.push_back(check_name(at, label)); });
  root.count("dead_max_jobs", config.dead_max_jobs, 1, 1'000'000'000);
  root.duration("dead_timeout", config.dead_timeout, 1s, 100 * year);
  root.section("redis", [&](const Section& section) { read_redis(section, config.redis); });
  root.section("log", [&](const Section& section) { read_log(section, config); });
  root.section("worker", [&](const Section& section) { read_worker(section, config.worker); });
  root.named_sections("commands", [&](const std::string& name, const Place& at, const Section& section) {
    read_command(name, at, section, config.commands[name]);
  });
  read_capsules(root, config);
  if (config.capsules.size() == 1) root.count("concurrency", config.capsules[0].concurrency, 1, most_workers);
}

struct File {
  std::string text;
  mode_t mode;
};

File read_file(const std::string& path) {
  // O_NONBLOCK: opening a FIFO must not wait for its writer.
  const UniqueFd fd(open(path.c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  struct stat status {};
  if (!fd || fstat(fd.get(), &status) != 0) Place{path}.refuse(std::strerror(errno));
  if (S_ISDIR(status.st_mode)) Place{path}.refuse("is a directory, not a file");
  if (!S_ISREG(status.st_mode)) Place{path}.refuse("is not a regular file");

  File file{{}, status.st_mode};
  char chunk[64 * 1024];
  for (ssize_t n; (n = read(fd.get(), chunk, sizeof chunk)) != 0;) {
    if (n < 0) Place{path}.refuse(std::strerror(errno));
    file.text.append(chunk, static_cast<std::size_t>(n));
    if (file.text.size() > largest_file) Place{path}.refuse("is larger than 1 MB");
  }
  return file;
}

void warn_of_permissions(const std::string& path, mode_t mode, Config& config) {
  const std::string shown = log::printable(path);
  if (mode & S_IWOTH) config.warnings.push_back(shown + " can be changed by every user of this machine");
  const std::size_t at = config.redis.url.find('@');
  const bool holds_password =
      at != std::string::npos &&
      config.redis.url.substr(0, at).find(':', config.redis.url.find("://") + 3) != std::string::npos;
  if ((mode & S_IROTH) && holds_password)
    config.warnings.push_back(shown + " holds a password and can be read by every user of this machine");
}

void read_config_file(const std::string& path, Config& config) {
  const File file = read_file(path);
  toml::table table;
  try {
    table = toml::parse(file.text, path);
  } catch (const toml::parse_error& error) {
    Place{fmt::format("{}:{}", path, error.source().begin.line)}.refuse(std::string(error.description()));
  }
  read_sections(Section(path, "", "", table), config);
  warn_of_permissions(path, file.mode, config);
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
  if (overrides.redis_url) config.redis.url = check_redis_url({"--redis"}, *overrides.redis_url);
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
  Config config;
  config.capsules.push_back({.name = "default", .concurrency = cpus_allowed_to_us()});
  config.environment.clear();
  if (!path.empty()) read_config_file(path, config);
  apply(overrides, config);
  if (config.environment.empty()) config.environment = environment_of_sidekiq();
  check_count({"concurrency of all capsules together"}, config.concurrency(), 1, most_workers);
  return config;
}

}  // namespace brood
