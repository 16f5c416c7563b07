#include <algorithm>
#include <cstring>
#include <utility>

#include "shared/scoreboard/scoreboard.hpp"

namespace brood {
namespace {

// An entry's word: its state, and the low bits of the number that it belongs to.  So a swap fails in a process that
// still looks at an older batch.
constexpr std::uint32_t entry_word(EntryState state, std::uint64_t number) {
  return static_cast<std::uint32_t>(state) | static_cast<std::uint32_t>(number & 0xff'ffff) << 8;
}

EntryState state_of(std::uint32_t word, std::uint64_t number) {
  const auto state = static_cast<EntryState>(word & 0xff);
  if (state > EntryState::judged || entry_word(state, number) != word) return EntryState::none;
  return state;
}

// Text under the sequence lock is read and written byte by byte as atomics.  A reader may look while it changes, and
// then drops what it has read.  Release and acquire keep these accesses between the two looks at the sequence.
template <std::size_t size>
void write_text(char (&to)[size], std::string_view text) {
  const std::size_t length = std::min(text.size(), size - 1);
  for (std::size_t i = 0; i < length; ++i) std::atomic_ref(to[i]).store(text[i], std::memory_order_release);
  std::atomic_ref(to[length]).store('\0', std::memory_order_release);
}

template <std::size_t size>
std::string read_text(const char (&from)[size]) {
  std::string text;
  for (std::size_t i = 0; i < size; ++i) {
    // Only load: the memory may be mapped for reading only.
    const char c = std::atomic_ref(const_cast<char&>(from[i])).load(std::memory_order_acquire);
    if (c == '\0') break;
    text += c;
  }
  return text;
}

class BeingWritten {
 public:
  explicit BeingWritten(std::atomic<std::uint32_t>& sequence) : of_record_(sequence), sequence_(sequence.load() | 1) {
    of_record_.store(sequence_);  // odd already when a predecessor died while writing
  }
  ~BeingWritten() { of_record_.store(sequence_ + 1, std::memory_order_release); }
  BeingWritten(const BeingWritten&) = delete;
  BeingWritten& operator=(const BeingWritten&) = delete;

 private:
  std::atomic<std::uint32_t>& of_record_;
  std::uint32_t sequence_;
};

struct TextBeingWritten : BeingWritten {
  explicit TextBeingWritten(SlotRecord& record) : BeingWritten(record.text_sequence) {}
};

// A job may have written any byte of it.
std::optional<JobProgress> read_progress(const SlotRecord& record) {
  const SlotRecord::Progress& progress = record.progress;
  for (int attempt = 0; attempt < 3; ++attempt) {
    const std::uint32_t before = progress.sequence.load();
    if (before % 2 != 0) continue;
    const std::int64_t of = progress.of.load();
    if (of == 0 || of != record.started_steady.load()) return std::nullopt;
    JobProgress read{std::max<std::int64_t>(progress.done.load(), 0), std::max<std::int64_t>(progress.total.load(), 0),
                     read_text(progress.note)};
    if (progress.sequence.load() == before) return read;
  }
  return std::nullopt;
}

void read_texts(const SlotRecord& record, SlotSnapshot& into) {
  for (int attempt = 0; attempt < 3; ++attempt) {
    const std::uint32_t before = record.text_sequence.load();
    if (before % 2 != 0) continue;
    std::string queue = read_text(record.text.queue), jid = read_text(record.text.jid),
                job_class = read_text(record.text.job_class);
    if (record.text_sequence.load() != before) continue;
    into.queue = std::move(queue);
    into.jid = std::move(jid);
    into.job_class = std::move(job_class);
    into.text_is_whole = true;
    return;
  }
}

constexpr auto furthest_deadline = std::chrono::hours(24 * 366);

// A time that a job scribbled over must not overflow when a reader subtracts it.
template <typename Time>
Time believable(Time written, Time now) {
  return std::clamp(written, Time{}, now + std::chrono::hours(24));
}

constexpr auto clock_slack = std::chrono::seconds(1);  // between the readings of two clocks

std::optional<SteadyTime> read_deadline(const SlotRecord& record) {
  const std::int64_t written = record.deadline.load();
  if (written <= 0) return std::nullopt;
  return SteadyTime(std::chrono::nanoseconds(written));
}

}  // namespace

void WorkerSlot::adopt_incarnation(std::uint64_t incarnation) {
  clear_entries();
  set_number(0);
  record_->own_incarnation.store(incarnation);
  wrote();
}

void WorkerSlot::clear_entries() {
  record_->current.store(-1);
  wrote();
  noted_bytes_ = 0;
  for (auto& entry : record_->entries) {
    if (entry.load() == 0) continue;
    entry.store(0);
    wrote();
  }
}

void WorkerSlot::set_number(std::uint64_t number) {
  record_->number.store(number, std::memory_order_release);
  wrote();
}

void WorkerSlot::set_queue(std::string_view queue) {
  {
    const TextBeingWritten lock(*record_);
    write_text(record_->text.queue, queue);
  }
  wrote();
}

void WorkerSlot::set_fetched(int count) {
  const std::uint32_t fetched = entry_word(EntryState::fetched, record_->number.load());
  for (int i = 0; i < std::min(count, max_batch_entries); ++i) {
    record_->entries[i].store(fetched);
    wrote();
  }
}

bool WorkerSlot::defer(int entry) {
  if (entry < 0 || entry >= max_batch_entries) return false;
  const std::uint64_t number = record_->number.load();
  std::uint32_t expected = entry_word(EntryState::fetched, number);
  const std::uint32_t deferred = entry_word(EntryState::interrupted, number);
  const bool is_deferred = record_->entries[entry].compare_exchange_strong(expected, deferred);
  wrote();
  return is_deferred;
}

bool WorkerSlot::begin(int entry, std::string_view jid, std::string_view job_class, WallTime now, SteadyTime steady,
                       std::uint32_t class_flags) {
  const std::uint64_t number = record_->number.load();
  std::uint32_t expected = entry_word(EntryState::fetched, number);
  if (entry < 0 || entry >= max_batch_entries) return false;
  if (!record_->entries[entry].compare_exchange_strong(expected, entry_word(EntryState::running, number))) return false;
  wrote();
  {
    const TextBeingWritten lock(*record_);
    write_text(record_->text.jid, jid);
    write_text(record_->text.job_class, job_class);
  }
  wrote();
  record_->started_at.store(now.time_since_epoch().count());
  record_->started_steady.store(steady.time_since_epoch().count());
  record_->deadline.store(0);
  record_->class_flags.store(class_flags);
  record_->processed.fetch_add(1);
  record_->current.store(entry);  // last: a reader that sees it may read the rest
  wrote();
  return true;
}

void WorkerSlot::set_printing(std::string_view what) {
  {
    const TextBeingWritten lock(*record_);
    write_text(record_->text.jid, "");
    write_text(record_->text.job_class, what);
  }
  wrote();
}

void WorkerSlot::set_deadline(std::optional<SteadyTime> deadline) {
  record_->deadline.store(deadline ? deadline->time_since_epoch().count() : 0);
}

std::optional<SteadyTime> WorkerSlot::deadline() const { return read_deadline(*record_); }

bool WorkerSlot::end(int entry, EntryState state) {
  if (entry < 0 || entry >= max_batch_entries) return true;
  const std::uint64_t number = record_->number.load();
  std::uint32_t expected = entry_word(EntryState::running, number);
  const bool ours = record_->entries[entry].compare_exchange_strong(expected, entry_word(state, number));
  if (!ours && expected == entry_word(EntryState::being_killed, number)) return false;
  if (!ours) record_->entries[entry].store(entry_word(state, number));  // a job scribbled over it
  wrote();
  if (state == EntryState::failed)
    record_->failed.fetch_add(1);  // its hooks come next: the worker is not done with it
  else
    record_->current.store(-1);
  wrote();
  return true;
}

void WorkerSlot::note_result(int entry, const OutcomeNote& result) {
  const std::uint64_t number = record_->number.load();
  if (record_->outcome_notes.write(entry, number, noted_bytes_, result))
    noted_bytes_ += result.payload.size();
  else
    record_->outcome_notes.forget(entry);
  wrote();
}

void WorkerSlot::set_progress(const JobProgress& progress) {
  SlotRecord::Progress& record = record_->progress;
  const BeingWritten lock(record.sequence);
  record.of.store(record_->started_steady.load());
  record.done.store(progress.done);
  record.total.store(progress.total);
  write_text(record.note, progress.note);
}

bool WorkerSlot::finish_entry(int entry, const OutcomeNote& becomes) {
  if (entry < 0 || entry >= max_batch_entries) return true;
  const std::uint64_t number = record_->number.load();
  if (record_->outcome_notes.write(entry, number, noted_bytes_, becomes)) {
    noted_bytes_ += becomes.payload.size();
    std::uint32_t expected = entry_word(EntryState::failed, number);
    record_->entries[entry].compare_exchange_strong(expected, entry_word(EntryState::judged, number));
    wrote();
  }
  if (this->entry(entry) == EntryState::being_killed) return false;
  record_->current.store(-1);
  wrote();
  return this->entry(entry) != EntryState::being_killed;
}

void WorkerSlot::set_waiting_client(std::uint64_t client_id) {
  record_->waiting_client.store(client_id);
  wrote();
}

EntryState WorkerSlot::entry(int i) const {
  if (i < 0 || i >= max_batch_entries) return EntryState::none;
  return state_of(record_->entries[i].load(), record_->number.load());
}

std::uint32_t WorkerSlot::flags() const { return record_->flags.load(); }
bool WorkerSlot::told_to_quiet() const { return (flags() & (slot_quiet | slot_stop)) != 0; }
bool WorkerSlot::told_to_stop() const { return (flags() & slot_stop) != 0; }

SlotSnapshot snapshot(const SlotRecord& record) {
  SlotSnapshot seen;
  seen.pid = record.pid.load();
  seen.start_time = record.start_time.load();
  seen.generation = record.generation.load();
  seen.incarnation = record.own_incarnation.load();
  seen.shard = std::clamp(record.own_shard.load(), 0, max_shards - 1);
  seen.number = record.number.load(std::memory_order_acquire);
  seen.ready = record.ready.load() == 1;
  seen.retired = record.retired.load() == 1;
  for (const auto& entry : record.entries) {
    const EntryState state = state_of(entry.load(), seen.number);
    if (state == EntryState::none) break;
    seen.entries.push_back(state);
  }
  seen.current = record.current.load();
  if (seen.current < 0 || seen.current >= max_batch_entries) seen.current = -1;
  seen.spawned_at = believable(SteadyTime(std::chrono::nanoseconds(record.spawned_at.load())), steady_now());
  seen.started_at = believable(WallTime(std::chrono::nanoseconds(record.started_at.load())), wall_now());
  seen.started_steady = believable(SteadyTime(std::chrono::nanoseconds(record.started_steady.load())), steady_now());
  if (seen.current >= 0 && seen.spawned_at > SteadyTime{}) {  // no job began before its worker
    seen.started_steady = std::max(seen.started_steady, seen.spawned_at);
    seen.started_at = std::max(seen.started_at, wall_now() - std::chrono::duration_cast<WallTime::duration>(
                                                                 steady_now() - seen.spawned_at + clock_slack));
  }
  seen.rests_until = believable(SteadyTime(std::chrono::nanoseconds(record.rests_until.load())), steady_now());
  seen.waiting_client = record.waiting_client.load();
  // Read after the number and `current`, so that the deadline is that entry's or a later one's.
  if (seen.current >= 0) {
    const auto deadline = read_deadline(record);
    if (deadline) seen.deadline = std::min(*deadline, steady_now() + furthest_deadline);
  }
  seen.cpu_before = std::chrono::microseconds(std::max<std::int64_t>(record.cpu_before_us.load(), 0));
  seen.class_flags = record.class_flags.load();
  seen.libraries = record.libraries.load();
  seen.forks_jobs = record.forks_jobs.load() != 0;
  seen.job_core_dumped = record.job_core_dumped.load() != 0;
  seen.job_pid = std::max(record.job_pid.load(), 0);
  seen.job_start_time = record.job_start_time.load();
  seen.processed = record.processed.load();
  seen.failed = record.failed.load();
  seen.fenced_outcomes = record.fenced_outcomes.load();
  seen.unconfirmed = record.unconfirmed.load();
  seen.expired = record.expired.load();
  seen.died = record.died.load();
  seen.processed_before = std::min(record.processed_before.load(), seen.processed);
  seen.failed_before = std::min(record.failed_before.load(), seen.failed);
  seen.number_in_capsule = record.number_in_capsule.load();
  seen.capsule = read_text(record.capsule);
  read_texts(record, seen);
  if (seen.current >= 0) seen.progress = read_progress(record);
  return seen;
}

SlotSnapshot last_words(const SlotRecord& record) {
  SlotSnapshot seen = snapshot(record);
  if (seen.current < 0 && std::count(seen.entries.begin(), seen.entries.end(), EntryState::running) > 0) {
    seen.jid.clear();
    seen.job_class.clear();
  }
  seen.outcome_notes.resize(seen.entries.size());
  for (std::size_t i = 0; i < seen.entries.size(); ++i) {
    if (seen.entries[i] == EntryState::judged || seen.entries[i] == EntryState::succeeded)
      seen.outcome_notes[i] = record.outcome_notes.read(static_cast<int>(i), seen.number);
  }
  return seen;
}

int take_back_unbegun(SlotRecord& record, std::uint64_t number, int count) {
  int kept = std::clamp(count, 0, max_batch_entries);
  while (kept > 0) {
    std::uint32_t expected = entry_word(EntryState::fetched, number);
    if (!record.entries[kept - 1].compare_exchange_strong(expected, entry_word(EntryState::taken_back, number))) break;
    --kept;
  }
  return kept;
}

bool mark_being_killed(SlotRecord& record, std::uint64_t number, int entry) {
  if (entry < 0 || entry >= max_batch_entries) return false;
  if (record.current.load() != entry) return false;
  for (const EntryState state : {EntryState::running, EntryState::failed}) {
    std::uint32_t expected = entry_word(state, number);
    if (record.entries[entry].compare_exchange_strong(expected, entry_word(EntryState::being_killed, number)))
      return true;
  }
  return false;
}

void vacate(SlotRecord& record, std::uint64_t incarnation, std::uint32_t generation, int shard) {
  record.pid.store(0);
  record.start_time.store(0);
  record.flags.store(0);
  for (auto& entry : record.entries) entry.store(0);
  for (NotedRun& note : record.run_notes) note.run.store(0);
  record.recent_classes.clear();
  record.number.store(0);
  record.own_incarnation.store(0);
  record.shard.store(shard);
  record.wanted_shard.store(shard);
  record.own_shard.store(shard);
  record.current.store(-1);
  record.waiting_client.store(0);
  record.ready.store(0);
  record.retired.store(0);
  record.class_flags.store(0);
  record.libraries.store(0);
  record.forks_jobs.store(0);
  record.job_core_dumped.store(0);
  record.job_pid.store(0);
  record.job_start_time.store(0);
  record.started_at.store(0);
  record.started_steady.store(0);
  record.deadline.store(0);
  record.progress.of.store(0);
  record.cpu_before_us.store(0);
  record.rests_until.store(0);
  record.output_reads.store(0);
  record.waits_outside.store(0);
  clear_stack(record.crash);
  clear_stack(record.dump);
  {
    const TextBeingWritten lock(record);
    write_text(record.text.queue, "");
    write_text(record.text.jid, "");
    write_text(record.text.job_class, "");
  }
  record.processed_before.store(record.processed.load());
  record.failed_before.store(record.failed.load());
  record.generation.store(generation);
  record.incarnation.store(incarnation);
}

void set_place(SlotRecord& record, std::string_view capsule, int number_in_capsule) {
  record.number_in_capsule.store(number_in_capsule);
  write_text(record.capsule, capsule);
}

void note_rung_for(SlotRecord& record, std::string_view queue) {
  write_text(record.rung_for, queue);
  record.rings.fetch_add(1);
}

std::string rung_for(const SlotRecord& record, std::uint32_t& rings) {
  const std::uint32_t now = record.rings.load();
  if (std::exchange(rings, now) == now) return "";
  return read_text(record.rung_for);
}

}  // namespace brood
