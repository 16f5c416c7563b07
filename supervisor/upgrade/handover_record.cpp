#include "supervisor/upgrade/handover_record.hpp"

#include <optional>
#include <type_traits>
#include <utility>

#include "shared/scoreboard/scoreboard.hpp"
#include "supervisor/upgrade/handover_json.hpp"
#include "supervisor/upgrade/worker_death_json.hpp"

namespace brood {
namespace {

constexpr std::int64_t nobody_said = -1;  // the identity has no user

}  // namespace

namespace handover_json {

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
  io.record("worker", capsule.worker);
  io.records("caps", capsule.caps);
}

template <typename Io>
void members(Io& io, Of<Io, HeldFiles::Entry>& file) {
  io.text("path", file.path);
  io.text("whole_path", file.whole_path);
  io.number("descriptor", file.descriptor);
  io.truth("library", file.is_library);
  io.text("needed_as", file.needed_as);
}

template <typename Io>
void members(Io& io, Of<Io, Handover::Generation>& generation) {
  io.number("number", generation.number);
  io.records("capsules", generation.capsules);
  io.record("worker", generation.worker);
  io.names("require", generation.require);
  io.text("directory", generation.directory);
  io.records("held", generation.held);
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

template <typename Io>
void members(Io& io, Of<Io, Handover::Left::Slot>& slot) {
  io.number("generation", slot.generation);
  io.number("capsule", slot.capsule);
  io.number("number", slot.number);
  io.truth("never_fetched", slot.never_fetched);
  io.time("occupied_since", slot.occupied_since);
  io.time("ended_at", slot.ended_at);
}

template <typename Io>
void members(Io& io, Of<Io, Handover::Left>& left) {
  io.number("shard", left.shard);
  members(io, left.death);
  io.record("held", left.slot);
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
  io.truth("roll_is_owed", handover.roll_is_owed);
  io.number("last_incarnation", handover.last_incarnation);
  io.number("used_slots", handover.used_slots);
  io.records("generations", handover.generations);
  io.number("present", handover.present);
  io.records("workers", handover.workers);
  io.record("page", handover.page);
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

}  // namespace handover_json

namespace {

bool has_possible_stack(const WorkerDeath& death) {
  if (!death.cause || !death.cause->facts) return true;
  const CapturedStack& stack = death.cause->facts->stack;
  return stack.frames.size() <= max_frames && stack.modules.size() <= max_modules;
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
    if (!has_possible_stack(left.death)) throw BadHandover("the handover holds a stack that cannot be");
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

std::string to_json(const Handover& handover) { return handover_json::Writer::object_of(handover); }

Handover parse_handover(const std::string& json) {
  try {
    Handover handover;
    handover.format = 0;
    handover_json::Reader::read(json, handover);
    refuse_nonsense(handover);
    return handover;
  } catch (const BadJson& error) {
    throw BadHandover(std::string("the handover is not what a supervisor writes: ") + error.what());
  } catch (const std::invalid_argument& error) {
    throw BadHandover(std::string("the handover is not what a supervisor writes: ") + error.what());
  }
}

}  // namespace brood
