#include "supervisor/upgrade/handover_record.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <optional>
#include <type_traits>
#include <utility>

#include "shared/base/check.hpp"
#include "shared/json/json_object.hpp"
#include "shared/json/json_writer.hpp"
#include "shared/scoreboard/scoreboard.hpp"

namespace brood {
namespace {

constexpr off_t largest = 64 << 20;
constexpr std::int64_t nobody_said = -1;  // whose process it is
constexpr int nobody_chose = -1;          // what becomes of a job
constexpr int as_configured = -1;
constexpr char signature = '\n';  // behind the text

// The record that the reader fills is const for the writer.
class Writer;
template <typename Io, typename Record>
using Of = std::conditional_t<std::is_same_v<Io, Writer>, const Record, Record>;

class Writer {
 public:
  void text(const char* key, const std::string& value) { json_.text(key, value); }
  template <typename Number>
  void number(const char* key, Number value) {
    json_.number(key, value);
  }
  template <typename Duration>
  void duration(const char* key, Duration value) {
    number(key, value.count());
  }
  template <typename Time>
  void time(const char* key, Time value) {
    number(key, value.time_since_epoch().count());
  }
  void truth(const char* key, bool value) { json_.truth(key, value); }
  template <typename Record>
  void record(const char* key, const Record& value) {
    json_.json(key, object_of(value));
  }
  template <typename Record>
  void record(const char* key, const std::optional<Record>& value) {
    if (value) record(key, *value);
  }
  template <typename Record>
  void records(const char* key, const std::vector<Record>& values) {
    json_.each(key, values, object_of<Record>);
  }
  void queues(const char* key, const QueueOrder& order) {
    const std::map<std::string, int> weights = order.weights();
    std::vector<std::string> entries;
    for (const std::string& name : order.names()) entries.push_back(fmt::format("{},{}", name, weights.at(name)));
    json_.texts(key, entries);
  }
  void names(const char* key, const std::vector<std::string>& names) { json_.texts(key, names); }

  template <std::size_t size>
  void numbers(const char* key, const std::array<std::uint64_t, size>& values) {
    json_.json(key, fmt::format("[{}]", fmt::join(values, ",")));
  }

  // Of any bytes at all.
  void bytes(const char* key, const std::string& value) {
    std::string digits;
    for (const unsigned char byte : value) digits += fmt::format("{:02x}", byte);
    json_.text(key, digits);
  }

  template <typename Record>
  static std::string object_of(const Record& value) {
    Writer writer;
    members(writer, value);
    return writer.json_.object();
  }

 private:
  JsonWriter json_;
};

// A key that is absent leaves its member as it is.
class Reader {
 public:
  explicit Reader(std::string_view json) : object_(JsonObject::parse(json)) {}

  void text(const char* key, std::string& into) const {
    if (auto value = object_.string(key)) into = std::move(*value);
  }
  template <typename Number>
  void number(const char* key, Number& into) const {
    const auto value = object_.integer(key);
    if (!value) return;
    if (!std::in_range<Number>(*value)) throw BadHandover(std::string("the handover's ") + key + " is out of range");
    into = static_cast<Number>(*value);
  }
  template <typename Duration>
  void duration(const char* key, Duration& into) const {
    std::int64_t count = into.count();
    number(key, count);
    into = Duration(count);
  }
  template <typename Time>
  void time(const char* key, Time& into) const {
    std::int64_t count = into.time_since_epoch().count();
    number(key, count);
    into = Time(std::chrono::nanoseconds(count));
  }
  void truth(const char* key, bool& into) const {
    if (object_.raw(key)) into = object_.truthy(key);
  }
  template <typename Record>
  void record(const char* key, Record& into) const {
    if (const auto raw = object_.raw(key)) read(*raw, into);
  }
  template <typename Record>
  void record(const char* key, std::optional<Record>& into) const {
    if (const auto raw = object_.raw(key)) read(*raw, *(into = Record{}));
  }
  template <typename Record>
  void records(const char* key, std::vector<Record>& into) const {
    for (const std::string& one : elements(key)) read(one, into.emplace_back());
  }
  void queues(const char* key, QueueOrder& into) const {
    std::vector<QueueOrder::Entry> entries;
    for (const std::string& entry : elements(key)) {
      if (!entry.starts_with('"')) throw BadHandover("a queue of the handover is no string");
      entries.push_back(QueueOrder::parse(json_unescape(entry)));
    }
    into = QueueOrder(std::move(entries));
  }
  void names(const char* key, std::vector<std::string>& into) const {
    for (const std::string& entry : elements(key)) {
      if (!entry.starts_with('"')) throw BadHandover("a name of the handover is no string");
      into.push_back(json_unescape(entry));
    }
  }

  template <std::size_t size>
  void numbers(const char* key, std::array<std::uint64_t, size>& into) const {
    const std::vector<std::string> values = elements(key);
    for (std::size_t i = 0; i < std::min(size, values.size()); ++i) {
      const std::string& value = values[i];
      if (std::from_chars(value.data(), value.data() + value.size(), into[i]).ptr != value.data() + value.size())
        throw BadHandover(std::string("the handover's ") + key + " are no numbers");
    }
  }

  void bytes(const char* key, std::string& into) const {
    const auto digits = object_.string(key);
    if (!digits) return;
    into.clear();
    for (std::size_t at = 0; at + 1 < digits->size(); at += 2) {
      unsigned byte = 0;
      const char* const pair = digits->data() + at;
      if (std::from_chars(pair, pair + 2, byte, 16).ptr != pair + 2)
        throw BadHandover(std::string("the handover's ") + key + " are no bytes");
      into += static_cast<char>(byte);
    }
  }

  template <typename Record>
  static void read(std::string_view json, Record& into) {
    const Reader reader(json);
    members(reader, into);
  }

 private:
  std::vector<std::string> elements(const char* key) const {
    const auto raw = object_.raw(key);
    return raw ? json_elements(*raw) : std::vector<std::string>();
  }

  JsonObject object_;
};

// Each member is named once, for writing and reading.
template <typename Io>
void members(Io& io, Of<Io, Statistics::Counts>& counts) {
  io.number("processed", counts.processed);
  io.number("failed", counts.failed);
}

template <typename Io>
void members(Io& io, Of<Io, ClassTotals>& totals) {
  io.number("runs", totals.runs);
  io.number("failed", totals.failed);
  io.number("crashed", totals.crashed);
  io.number("ms", totals.ms);
  io.numbers("histogram", totals.histogram);
  io.number("cpu_us", totals.cpu_us);
  io.number("wall_us", totals.wall_us);
}

template <typename Io>
void members(Io& io, Of<Io, Metrics::Known>& known) {
  io.text("class", known.job_class);
  io.record("seen", known.seen);
  io.record("unflushed", known.unflushed);
  io.number("peak_rss_kb", known.peak_rss_kb);
}

template <typename Io>
void members(Io& io, Of<Io, Identity>& identity) {
  io.text("name", identity.name);
  io.text("hostname", identity.hostname);
  io.text("boot_id", identity.boot_id);
  io.text("pid_namespace", identity.pid_namespace);
  io.number("pid", identity.pid);
  io.number("start_time", identity.start_time);
  io.text("runtime_directory", identity.runtime_directory);
  std::int64_t user = identity.user ? *identity.user : nobody_said;
  io.number("user", user);
  if constexpr (!std::is_same_v<Io, Writer>) {
    if (user != nobody_said) identity.user = static_cast<uid_t>(user);
  }
}

template <typename Io>
void members(Io& io, Of<Io, WorkerSettings>& worker) {
  io.number("max_jobs", worker.max_jobs);
  io.number("max_rss_bytes", worker.max_rss_bytes);
  io.number("memory_limit_bytes", worker.memory_limit_bytes);
  io.duration("job_timeout_ms", worker.job_timeout);
  io.duration("timeout_grace_ms", worker.timeout_grace);
  io.number("max_crashes", worker.max_crashes);
  io.number("max_batch", worker.max_batch);
  io.truth("seccomp", worker.seccomp);
  bool replaces = worker.threads == LeftThreads::replace;
  io.truth("replaces_for_threads", replaces);
  if constexpr (!std::is_same_v<Io, Writer>) worker.threads = replaces ? LeftThreads::replace : LeftThreads::allow;
  int preload = static_cast<int>(worker.preload);
  io.number("preload", preload);
  if constexpr (!std::is_same_v<Io, Writer>) {
    if (preload >= 0 && preload <= static_cast<int>(Preload::never)) worker.preload = static_cast<Preload>(preload);
  }
}

template <typename Io>
void members(Io& io, Of<Io, CapSettings>& cap) {
  io.text("name", cap.name);
  io.number("most", cap.most);
  io.names("queues", cap.queues);
  io.names("classes", cap.classes);
}

template <typename Io>
void members(Io& io, Of<Io, CapsuleSettings>& capsule) {
  io.text("name", capsule.name);
  io.number("concurrency", capsule.concurrency);
  io.queues("queues", capsule.queues);
  io.truth("follows_all_queues", capsule.follows_all_queues);
  io.record("worker", capsule.worker);
  io.records("caps", capsule.caps);
}

template <typename Io>
void members(Io& io, Of<Io, Handover::Generation>& generation) {
  io.number("number", generation.number);
  io.records("capsules", generation.capsules);
  io.record("worker", generation.worker);
}

template <typename Io>
void members(Io& io, Of<Io, Handover::Worker>& worker) {
  io.number("pid", worker.pid);
  io.number("slot", worker.slot);
  io.number("generation", worker.generation);
  io.number("capsule", worker.capsule);
  io.number("number", worker.number);
  io.number("incarnation", worker.incarnation);
  io.number("shard", worker.shard);
  io.truth("finishing", worker.finishing);
  io.number("flags", worker.flags);
  io.truth("waits_its_turn", worker.waits_its_turn);
  io.truth("never_fetched", worker.never_fetched);
  io.number("processed_before", worker.processed_before);
  io.time("occupied_since", worker.occupied_since);
  io.time("ready_at", worker.ready_at);
  io.number("control", worker.control);
  io.number("output", worker.output);
  io.text("output_token", worker.output_token);
}

template <typename Io>
void members(Io& io, Of<Io, Handover::Template>& one) {
  io.number("pid", one.pid);
  io.number("generation", one.generation);
  io.number("slots", one.slots);
  io.number("line", one.line);
}

template <typename Io>
void members(Io& io, Of<Io, Handover::Counted>& counted) {
  io.number("slot", counted.slot);
  io.record("counts", counted.counts);
}

template <typename Io>
void members(Io& io, Of<Io, Handover::Shard>& shard) {
  io.records("counted", shard.counted);
  io.record("uncounted", shard.uncounted);
  io.text("beat_tokens", shard.beat_tokens);
  io.truth("empty_place", shard.is_empty_place);
}

// What a number stands for among the first `count` of an enumeration.
template <typename Io, typename Enumeration>
void enumerator(Io& io, const char* key, Enumeration& value, int count) {
  int number = static_cast<int>(value);
  io.number(key, number);
  if constexpr (!std::is_same_v<Io, Writer>) {
    if (number < 0 || number >= count) throw BadHandover(std::string("the handover's ") + key + " is out of range");
    value = static_cast<Enumeration>(number);
  }
}

template <typename Io>
void members(Io& io, Of<Io, Outcome>& outcome) {
  enumerator(io, "kind", outcome.kind, static_cast<int>(Outcome::Kind::set_aside) + 1);
  io.bytes("payload", outcome.payload);
  std::int64_t microseconds = std::llround(outcome.score * 1e6);
  io.number("score_us", microseconds);
  if constexpr (!std::is_same_v<Io, Writer>) outcome.score = static_cast<double>(microseconds) / 1e6;
}

// An entry of a dead worker's batch.
struct LeftEntry {
  EntryState state = EntryState::none;
  std::optional<Outcome> outcome;
};

template <typename Io>
void members(Io& io, Of<Io, LeftEntry>& entry) {
  enumerator(io, "state", entry.state, static_cast<int>(EntryState::judged) + 1);
  io.record("outcome", entry.outcome);
}

template <typename Io>
void members(Io& io, Of<Io, DeadWorker::Record>& record) {
  io.number("number", record.number);
  io.bytes("queue", record.queue);
  io.bytes("jid", record.jid);
  std::vector<LeftEntry> entries;
  for (std::size_t i = 0; i < record.entries.size(); ++i)
    entries.push_back({record.entries[i], i < record.outcomes.size() ? record.outcomes[i] : std::nullopt});
  io.records("entries", entries);
  if constexpr (!std::is_same_v<Io, Writer>) {
    for (LeftEntry& entry : entries) {
      record.entries.push_back(entry.state);
      record.outcomes.push_back(std::move(entry.outcome));
    }
  }
}

template <typename Io>
void members(Io& io, Of<Io, WorkerDeath::Cause>& cause) {
  io.bytes("error_class", cause.error_class);
  io.bytes("message", cause.message);
  io.truth("counts_as_crash", cause.counts_as_crash);
}

template <typename Io>
void members(Io& io, Of<Io, Handover::Left>& left) {
  io.number("shard", left.shard);
  auto& death = left.death;
  io.bytes("identity", death.worker.identity);
  io.number("slot", death.worker.slot);
  io.number("incarnation", death.worker.incarnation);
  io.record("record", death.worker.record);
  io.truth("ended_by_brood", death.worker.ended_by_brood);
  io.record("cause", death.cause);
  int fate = death.fate ? static_cast<int>(*death.fate) : nobody_chose;
  io.number("fate", fate);
  io.truth("cause_unknown", death.cause_unknown);
  io.number("class_flags", death.class_flags);
  int max_crashes = death.max_crashes.value_or(as_configured);
  io.number("max_crashes", max_crashes);
  if constexpr (!std::is_same_v<Io, Writer>) {
    if (fate >= 0 && fate <= static_cast<int>(WorkerDeath::Fate::discard))
      death.fate = static_cast<WorkerDeath::Fate>(fate);
    if (max_crashes != as_configured) death.max_crashes = max_crashes;
  }
}

template <typename Io>
void members(Io& io, Of<Io, ConfigAsRead>& file) {
  io.text("text", file.text);
  io.number("mode", file.mode);
}

template <typename Io>
void members(Io& io, Of<Io, Handover>& handover) {
  io.number("format", handover.format);
  io.text("version", handover.version);
  io.text("program", handover.program);
  io.truth("rehearsal", handover.rehearsal);
  io.record("identity", handover.identity);
  io.text("redis", handover.redis);
  io.time("started_at", handover.started_at);
  io.truth("quiet", handover.quiet);
  io.number("last_incarnation", handover.last_incarnation);
  io.number("used_slots", handover.used_slots);
  io.records("generations", handover.generations);
  io.number("present", handover.present);
  io.records("workers", handover.workers);
  io.records("templates", handover.templates);
  io.number("control_listener", handover.control_listener);
  io.number("log", handover.log);
  io.record("config", handover.config);
  io.record("former_config", handover.former_config);
  io.records("counted", handover.counted);
  io.record("uncounted", handover.uncounted);
  io.text("beat_tokens", handover.beat_tokens);
  io.records("classes", handover.classes);
  io.truth("empty_place", handover.is_empty_place);
  io.records("other_shards", handover.other_shards);
  io.records("left", handover.left);
}

void refuse_nonsense(const Handover& handover) {
  if (handover.identity.name.empty() || handover.identity.pid <= 0)
    throw BadHandover("the handover does not say whose it is");
  for (const Handover::Worker& worker : handover.workers) {
    if (worker.shard < 0 || worker.shard >= max_shards) throw BadHandover("the handover names a shard that cannot be");
    if (worker.pid <= 0 || worker.slot < 0) throw BadHandover("the handover names a worker without process or slot");
  }
  for (const Handover::Left& left : handover.left) {
    if (left.shard < 0 || left.shard >= max_shards) throw BadHandover("the handover names a shard that cannot be");
    if (left.death.worker.record && left.death.worker.record->entries.size() > max_batch_entries)
      throw BadHandover("the handover tells of more jobs than a worker holds");
  }
  for (const Handover::Template& one : handover.templates) {
    if (one.pid <= 0) throw BadHandover("the handover names a template without process");
  }
}

}  // namespace

std::vector<int> Handover::empty_places() const {
  std::vector<int> numbers;
  if (is_empty_place) numbers.push_back(0);
  for (std::size_t i = 0; i < other_shards.size(); ++i) {
    if (other_shards[i].is_empty_place) numbers.push_back(static_cast<int>(i) + 1);
  }
  return numbers;
}

std::vector<int> descriptors_of(const Handover& handover) {
  std::vector<int> all{handover.control_listener, handover.log};
  for (const Handover::Worker& worker : handover.workers) {
    all.push_back(worker.control);
    all.push_back(worker.output);
  }
  for (const Handover::Template& one : handover.templates) all.push_back(one.line);
  std::erase_if(all, [](int descriptor) { return descriptor <= STDERR_FILENO; });
  return all;
}

UniqueFd own_descriptor(int left) {
  if (left < 0) return {};
  return UniqueFd(check("fcntl", fcntl(left, F_DUPFD_CLOEXEC, STDERR_FILENO + 1)));
}

std::string to_json(const Handover& handover) { return Writer::object_of(handover); }

Handover parse_handover(const std::string& json) {
  try {
    Handover handover;
    handover.format = 0;
    Reader::read(json, handover);
    refuse_nonsense(handover);
    return handover;
  } catch (const BadJson& error) {
    throw BadHandover(std::string("the handover is not what a supervisor writes: ") + error.what());
  } catch (const std::invalid_argument& error) {
    throw BadHandover(std::string("the handover is not what a supervisor writes: ") + error.what());
  }
}

UniqueFd write_handover(const Handover& handover) {
  const std::string json = to_json(handover);
  UniqueFd file(check("memfd_create", memfd_create("brood-handover", MFD_CLOEXEC | MFD_ALLOW_SEALING)));
  for (std::size_t written = 0; written < json.size();)
    written +=
        static_cast<std::size_t>(check("write", ::write(file.get(), json.data() + written, json.size() - written)));
  // Sealed, so that the new program cannot change it: the program before may still need it.
  if (!handover.rehearsal)
    check("fcntl", fcntl(file.get(), F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL));
  return file;
}

void sign_rehearsal(int descriptor) {
  struct stat about {};
  check("fstat of the handover", fstat(descriptor, &about));
  check("signature of the handover", pwrite(descriptor, &signature, 1, about.st_size));
}

bool is_signed(int descriptor) {
  struct stat about {};
  char last = '\0';
  return fstat(descriptor, &about) == 0 && about.st_size > 0 && pread(descriptor, &last, 1, about.st_size - 1) == 1 &&
         last == signature;
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
