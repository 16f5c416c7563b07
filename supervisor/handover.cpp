#include "supervisor/handover.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <type_traits>
#include <utility>

#include "shared/check.hpp"
#include "shared/job/json_object.hpp"

namespace brood {
namespace {

constexpr off_t largest = 64 << 20;

std::int64_t ticks(auto time) { return time.time_since_epoch().count(); }

class Writer {
 public:
  Writer& text(const char* key, std::string_view value) { return raw(key, json_string(value)); }
  template <typename Integer>
  Writer& number(const char* key, Integer value) {
    return raw(key, fmt::format("{}", value));
  }
  Writer& truth(const char* key, bool value) { return raw(key, value ? "true" : "false"); }
  Writer& list(const char* key, const std::vector<std::string>& raws) {
    return raw(key, fmt::format("[{}]", fmt::join(raws, ",")));
  }
  Writer& raw(const char* key, const std::string& value) {
    out_ += fmt::format("{}\"{}\":{}", out_.empty() ? "" : ",", key, value);
    return *this;
  }
  std::string object() const { return "{" + out_ + "}"; }

 private:
  std::string out_;
};

class Reader {
 public:
  explicit Reader(std::string_view json) : object_(JsonObject::parse(json)) {}

  // Absent: `into` stays as it is.
  void text(const char* key, std::string& into) const {
    if (auto value = object_.string(key)) into = std::move(*value);
  }
  template <typename Integer>
  void number(const char* key, Integer& into) const {
    const auto value = object_.integer(key);
    if (!value) return;
    if (!std::in_range<Integer>(*value)) throw BadHandover(std::string("the handover's ") + key + " is out of range");
    into = static_cast<Integer>(*value);
  }
  template <typename Duration>
  void duration(const char* key, Duration& into) const {
    std::int64_t count = into.count();
    number(key, count);
    into = Duration(count);
  }
  template <typename Time>
  void time(const char* key, Time& into) const {
    std::int64_t count = ticks(into);
    number(key, count);
    into = Time(std::chrono::nanoseconds(count));
  }
  void truth(const char* key, bool& into) const {
    if (object_.raw(key)) into = object_.truthy(key);
  }
  std::vector<std::string> list(const char* key) const {
    const auto raw = object_.raw(key);
    return raw ? json_elements(*raw) : std::vector<std::string>();
  }
  Reader object(const char* key) const { return Reader(object_.raw(key).value_or("{}")); }

 private:
  JsonObject object_;
};

std::string to_json(const Statistics::Counts& counts) {
  return Writer().number("processed", counts.processed).number("failed", counts.failed).object();
}

Statistics::Counts read_counts(const Reader& from) {
  Statistics::Counts counts;
  from.number("processed", counts.processed);
  from.number("failed", counts.failed);
  return counts;
}

std::string to_json(const Identity& identity) {
  return Writer()
      .text("name", identity.name)
      .text("hostname", identity.hostname)
      .text("boot_id", identity.boot_id)
      .text("pid_namespace", identity.pid_namespace)
      .number("pid", identity.pid)
      .number("start_time", identity.start_time)
      .text("runtime_directory", identity.runtime_directory)
      .object();
}

Identity read_identity(const Reader& from) {
  Identity identity;
  from.text("name", identity.name);
  from.text("hostname", identity.hostname);
  from.text("boot_id", identity.boot_id);
  from.text("pid_namespace", identity.pid_namespace);
  from.number("pid", identity.pid);
  from.number("start_time", identity.start_time);
  from.text("runtime_directory", identity.runtime_directory);
  if (identity.name.empty() || identity.pid <= 0) throw BadHandover("the handover does not say whose it is");
  return identity;
}

std::string to_json(const CapsuleSettings& capsule) {
  const std::map<std::string, int> weights = capsule.queues.weights();
  std::vector<std::string> queues;
  for (const std::string& name : capsule.queues.names())
    queues.push_back(json_string(fmt::format("{},{}", name, weights.at(name))));
  return Writer()
      .text("name", capsule.name)
      .number("concurrency", capsule.concurrency)
      .list("queues", queues)
      .truth("follows_all_queues", capsule.follows_all_queues)
      .object();
}

CapsuleSettings read_capsule(const Reader& from) {
  CapsuleSettings capsule;
  from.text("name", capsule.name);
  from.number("concurrency", capsule.concurrency);
  from.truth("follows_all_queues", capsule.follows_all_queues);
  std::vector<QueueOrder::Entry> queues;
  for (const std::string& queue : from.list("queues")) queues.push_back(QueueOrder::parse(json_unescape(queue)));
  capsule.queues = QueueOrder(std::move(queues));
  return capsule;
}

std::string to_json(const WorkerSettings& worker) {
  return Writer()
      .number("max_jobs", worker.max_jobs)
      .number("max_rss_bytes", worker.max_rss_bytes)
      .number("memory_limit_bytes", worker.memory_limit_bytes)
      .number("job_timeout_ms", worker.job_timeout.count())
      .number("timeout_grace_ms", worker.timeout_grace.count())
      .number("max_crashes", worker.max_crashes)
      .number("max_batch", worker.max_batch)
      .truth("seccomp", worker.seccomp)
      .object();
}

WorkerSettings read_worker_settings(const Reader& from) {
  WorkerSettings worker;
  from.number("max_jobs", worker.max_jobs);
  from.number("max_rss_bytes", worker.max_rss_bytes);
  from.number("memory_limit_bytes", worker.memory_limit_bytes);
  from.duration("job_timeout_ms", worker.job_timeout);
  from.duration("timeout_grace_ms", worker.timeout_grace);
  from.number("max_crashes", worker.max_crashes);
  from.number("max_batch", worker.max_batch);
  from.truth("seccomp", worker.seccomp);
  return worker;
}

std::string to_json(const Handover::Generation& generation) {
  std::vector<std::string> capsules;
  for (const CapsuleSettings& capsule : generation.capsules) capsules.push_back(to_json(capsule));
  return Writer()
      .number("number", generation.number)
      .list("capsules", capsules)
      .raw("worker", to_json(generation.worker))
      .object();
}

Handover::Generation read_generation(const Reader& from) {
  Handover::Generation generation;
  from.number("number", generation.number);
  for (const std::string& capsule : from.list("capsules")) generation.capsules.push_back(read_capsule(Reader(capsule)));
  generation.worker = read_worker_settings(from.object("worker"));
  return generation;
}

std::string to_json(const Handover::Worker& worker) {
  return Writer()
      .number("pid", worker.pid)
      .number("slot", worker.slot)
      .number("generation", worker.generation)
      .number("capsule", worker.capsule)
      .number("number", worker.number)
      .number("incarnation", worker.incarnation)
      .truth("finishing", worker.finishing)
      .number("flags", worker.flags)
      .number("processed_before", worker.processed_before)
      .number("occupied_since", ticks(worker.occupied_since))
      .number("ready_at", ticks(worker.ready_at))
      .number("control", worker.control)
      .number("output", worker.output)
      .text("output_token", worker.output_token)
      .object();
}

Handover::Worker read_worker(const Reader& from) {
  Handover::Worker worker;
  from.number("pid", worker.pid);
  from.number("slot", worker.slot);
  from.number("generation", worker.generation);
  from.number("capsule", worker.capsule);
  from.number("number", worker.number);
  from.number("incarnation", worker.incarnation);
  from.truth("finishing", worker.finishing);
  from.number("flags", worker.flags);
  from.number("processed_before", worker.processed_before);
  from.time("occupied_since", worker.occupied_since);
  from.time("ready_at", worker.ready_at);
  from.number("control", worker.control);
  from.number("output", worker.output);
  from.text("output_token", worker.output_token);
  if (worker.pid <= 0 || worker.slot < 0) throw BadHandover("the handover names a worker without process or slot");
  return worker;
}

}  // namespace

std::string to_json(const Handover& handover) {
  std::vector<std::string> generations, workers, counted;
  for (const Handover::Generation& generation : handover.generations) generations.push_back(to_json(generation));
  for (const Handover::Worker& worker : handover.workers) workers.push_back(to_json(worker));
  for (const auto& [slot, counts] : handover.counted)
    counted.push_back(Writer().number("slot", slot).raw("counts", to_json(counts)).object());
  return Writer()
      .number("format", handover.format)
      .text("version", handover.version)
      .raw("identity", to_json(handover.identity))
      .text("redis", handover.redis)
      .number("started_at", ticks(handover.started_at))
      .truth("quiet", handover.quiet)
      .number("last_incarnation", handover.last_incarnation)
      .number("used_slots", handover.used_slots)
      .list("generations", generations)
      .number("present", handover.present)
      .list("workers", workers)
      .number("control_listener", handover.control_listener)
      .list("counted", counted)
      .raw("uncounted", to_json(handover.uncounted))
      .object();
}

Handover parse_handover(const std::string& json) {
  try {
    const Reader from(json);
    Handover handover;
    handover.format = 0;
    from.number("format", handover.format);
    from.text("version", handover.version);
    handover.identity = read_identity(from.object("identity"));
    from.text("redis", handover.redis);
    from.time("started_at", handover.started_at);
    from.truth("quiet", handover.quiet);
    from.number("last_incarnation", handover.last_incarnation);
    from.number("used_slots", handover.used_slots);
    for (const std::string& one : from.list("generations"))
      handover.generations.push_back(read_generation(Reader(one)));
    from.number("present", handover.present);
    for (const std::string& one : from.list("workers")) handover.workers.push_back(read_worker(Reader(one)));
    from.number("control_listener", handover.control_listener);
    for (const std::string& one : from.list("counted")) {
      const Reader counts(one);
      int slot = -1;
      counts.number("slot", slot);
      handover.counted[slot] = read_counts(counts.object("counts"));
    }
    handover.uncounted = read_counts(from.object("uncounted"));
    return handover;
  } catch (const BadJson& error) {
    throw BadHandover(std::string("the handover is not what a supervisor writes: ") + error.what());
  } catch (const std::invalid_argument& error) {
    throw BadHandover(std::string("the handover is not what a supervisor writes: ") + error.what());
  }
}

UniqueFd write_handover(const Handover& handover) {
  const std::string json = to_json(handover);
  UniqueFd file(check("memfd_create", memfd_create("brood-handover", MFD_CLOEXEC)));
  for (std::size_t written = 0; written < json.size();)
    written +=
        static_cast<std::size_t>(check("write", ::write(file.get(), json.data() + written, json.size() - written)));
  return file;
}

Handover read_handover(int descriptor) {
  struct stat about {};
  if (fstat(descriptor, &about) != 0 || !S_ISREG(about.st_mode) || about.st_size > largest)
    throw BadHandover(fmt::format("descriptor {} holds no handover", descriptor));
  std::string json(static_cast<std::size_t>(about.st_size), '\0');
  for (std::size_t got = 0; got < json.size();) {
    const ssize_t count = pread(descriptor, json.data() + got, json.size() - got, static_cast<off_t>(got));
    if (count <= 0) throw BadHandover(fmt::format("descriptor {} cannot be read", descriptor));
    got += static_cast<std::size_t>(count);
  }
  return parse_handover(json);
}

}  // namespace brood
