#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <sys/types.h>

#include <brood/progress.hpp>

#include "shared/base/clock.hpp"
#include "shared/scoreboard/class_usage.hpp"
#include "shared/scoreboard/outcome_notes.hpp"
#include "shared/scoreboard/run_note.hpp"
#include "shared/scoreboard/stack_record.hpp"

namespace brood {

inline constexpr int max_batch_entries = 32;
inline constexpr std::string_view loading_prefix = "Loading::";  // of a record's class, before a library's path
inline constexpr int max_shards = 256;  // Redis servers, or parts of a cluster, that one supervisor serves

// The state of one entry of a worker's batch.
enum class EntryState : std::uint8_t {
  none,          // no such entry
  fetched,       // in the in-flight list, not begun
  running,       // its code runs, or ran when the worker died
  succeeded,     // ended well, not yet settled
  failed,        // ended badly, not yet settled
  interrupted,   // asked to be requeued, not yet settled
  taken_back,    // the supervisor returned it to its queue
  being_killed,  // the supervisor ends the worker because of it; the worker may no longer settle it
  judged,        // ended badly, and its outcome is noted; not yet settled
};

// Another host may take over the jobs of a supervisor whose last heartbeat is 60 s old.  Its workers begin no job when
// that heartbeat is older than this.
constexpr std::chrono::seconds longest_life_after_beat{45};
inline bool is_old(const std::atomic<std::int64_t>& beat, BootTime now) {
  return beat.load() < (now - longest_life_after_beat).time_since_epoch().count();
}

// One worker's record in shared memory.  Each spawn takes a record; it is free again when the worker is dead and its
// jobs are recovered.  Redis knows the record's number as the worker's slot.  A job may have scribbled over any byte,
// so readers bound and check all values.  Text lies under a sequence lock whose reader gives up after three tries.
// There are no pointers and no mutex.
struct alignas(64) SlotRecord {
  // Written by the supervisor.
  std::atomic<std::int32_t> pid;
  std::atomic<std::uint64_t> start_time;  // of that process, in clock ticks since boot; the worker writes both, too
  std::atomic<std::uint32_t> generation;
  std::atomic<std::uint64_t> incarnation;  // assigned; the worker registers it
  std::atomic<std::int32_t> shard;         // the shard of that incarnation; written before it
  std::atomic<std::int32_t> wanted_shard;  // where the worker must go once it holds nothing; if equal, it stays
  std::atomic<std::int32_t> number_in_capsule;
  char capsule[64];                                            // its name, cut to fit
  std::atomic<std::uint64_t> processed_before, failed_before;  // the counters below when the worker was forked
  std::atomic<std::uint32_t> flags;                            // SlotFlag bits
  std::atomic<std::uint32_t> waits_outside;  // 1: the worker must not wait in Redis, which could not wake it
  std::atomic<std::int64_t> spawned_at;      // steady nanoseconds
  std::atomic<std::int64_t> rests_until;     // steady nanoseconds; a vacant slot is not filled before
  std::atomic<std::uint32_t> output_reads;   // see output_reads.hpp
  std::atomic<std::uint32_t> rings;          // how often the worker was freed for a job of `rung_for`
  char rung_for[256];                        // the name of a queue, cut to fit

  // Written by the worker.
  std::atomic<std::uint64_t> own_incarnation;  // the incarnation that number, queue and entries belong to
  std::atomic<std::int32_t> own_shard;         // the shard where that is registered; written before it
  std::atomic<std::uint64_t> number;           // of its last applied settle
  std::array<std::atomic<std::uint32_t>, max_batch_entries>
      entries;                                   // state in the low 8 bits, low 24 bits of number above
  std::atomic<std::int32_t> current;             // index of the running entry, -1: none
  std::atomic<std::int64_t> started_at;          // of the running entry, wall nanoseconds
  std::atomic<std::int64_t> started_steady;      // the same, steady nanoseconds
  std::atomic<std::int64_t> deadline;            // of the running entry, steady nanoseconds; 0: none
  std::atomic<std::int64_t> cpu_before_us;       // CPU time that the worker had used before the running entry
  std::atomic<std::uint64_t> waiting_client;     // in BLMOVE on `text.queue`: its Redis client id; else 0
  std::atomic<std::uint32_t> ready;              // 1: libraries are loaded
  std::atomic<std::uint32_t> retired;            // 1: left its incarnation in order; nothing to recover
  std::atomic<std::uint32_t> class_flags;        // of the running class: ClassFlag bits
  std::atomic<std::uint32_t> forks_jobs;         // 1: it has a JobForker, and dies before its descendants
  std::atomic<std::uint32_t> job_core_dumped;    // 1: `job_pid` left a core file, and its crash ended the worker
  std::atomic<std::int32_t> job_pid;             // of the process that runs the entry; 0: the worker itself does
  std::atomic<std::uint64_t> job_start_time;     // of that process, in clock ticks since boot
  std::atomic<std::uint64_t> processed, failed;  // attempts begun, attempts that ended badly; never reset
  RunNotes run_notes;                            // of the batch's entries, until they are added to the classes' usage
  std::atomic<std::uint64_t> fenced_outcomes;    // outcomes dropped because their jobs were recovered; never reset
  std::atomic<std::uint64_t> unconfirmed;        // settles that replicas did not confirm in time; never reset
  std::atomic<std::uint64_t> expired;            // jobs that came too late to begin; never reset
  std::atomic<std::uint64_t> died;               // jobs that it moved to the dead set; never reset
  RecentClasses recent_classes;                  // that have run in this process
  std::atomic<std::uint64_t> libraries;          // digest of what it has loaded: see worker/job/libraries_digest.hpp

  std::atomic<std::uint32_t> text_sequence;  // odd while the worker writes
  struct Text {
    char queue[256];  // of the batch
    char jid[128];    // of the running entry; cut to fit
    char job_class[256];
  } text;

  StackRecord crash;  // the worker's last words
  StackRecord dump;   // where it was when it was last asked

  OutcomeNotes outcome_notes;  // of the batch's judged entries, and results of those that succeeded

  // Progress of the running entry, under a sequence lock as the texts.
  struct Progress {
    std::atomic<std::uint32_t> sequence;
    std::atomic<std::int64_t> of;  // `started_steady` of the run that reported it
    std::atomic<std::int64_t> done, total;
    char note[128];
  } progress;
};

// Whether a record has room for both texts in full.
inline bool fits_a_record(std::string_view jid, std::string_view job_class) {
  return jid.size() < sizeof(SlotRecord::Text::jid) && job_class.size() < sizeof(SlotRecord::Text::job_class);
}

enum SlotFlag : std::uint32_t { slot_quiet = 1, slot_stop = 2 };
enum ClassFlag : std::uint32_t {
  class_has_hooks = 1,
  class_has_handlers = 2,
  class_is_unsafe_html = 4,
  job_is_large = 32,     // too large to be shown whenever running jobs are listed
  job_is_on_trial = 16,  // its class was in quarantine, and the record has its whole jid and class
};
inline constexpr int class_flags_end = 8;  // above that bit: the class's rules for retries, see worker/job/retry_flags

// A consistent-enough copy of a record for one decision.  `entries` holds states whose number bits match `number`; a
// state with other bits, or no known state, is `none`.
struct SlotSnapshot {
  pid_t pid = 0;
  std::uint64_t start_time = 0, generation = 0, incarnation = 0, number = 0;
  int shard = 0;  // of the incarnation
  bool ready = false, retired = false;
  std::vector<EntryState> entries;  // up to the first `none`
  int current = -1;
  std::uint64_t waiting_client = 0;
  WallTime started_at{};
  SteadyTime started_steady{}, spawned_at{}, rests_until{};
  std::optional<SteadyTime> deadline;
  std::chrono::microseconds cpu_before{};
  std::uint32_t class_flags = 0;
  std::uint64_t libraries = 0;
  bool forks_jobs = false, job_core_dumped = false;
  pid_t job_pid = 0;  // 0: the worker itself runs its jobs
  std::uint64_t job_start_time = 0;
  std::uint64_t processed = 0, failed = 0, fenced_outcomes = 0, unconfirmed = 0, expired = 0, died = 0;
  std::uint64_t processed_before = 0, failed_before = 0;
  int number_in_capsule = 0;
  std::string capsule;
  bool text_is_whole = false;  // false: the three strings are empty, a writer died or scribbled under the lock
  std::string queue, jid, job_class;
  std::optional<JobProgress> progress;  // of the running entry, if it reports any
  // For the entries that are judged, or have succeeded and left a result; in last_words() alone.
  std::vector<std::optional<OutcomeNote>> outcome_notes;
};

// The worker's side of its record.  The order of writes matters: see worker/session/session.cpp.
class WorkerSlot {
 public:
  explicit WorkerSlot(SlotRecord& record) : record_(&record) {}

  void adopt_incarnation(std::uint64_t incarnation);  // clears the entries, then the number, then sets their owner
  void clear_entries();
  void set_number(std::uint64_t number);  // release
  void set_queue(std::string_view queue);
  void set_fetched(int count);  // entries 0..count-1 become `fetched`, tagged with the number

  // fetched -> interrupted by compare-and-swap: the entry does not run, and waits elsewhere.  Returns false as begin().
  bool defer(int entry);
  // fetched -> running by compare-and-swap; false when the supervisor took the entry back.
  bool begin(int entry, std::string_view jid, std::string_view job_class, WallTime now, SteadyTime steady,
             std::uint32_t class_flags);
  // Between jobs: names the code that runs and may print: a handler, or `loading_prefix` and a library's path; empty:
  // none.
  void set_printing(std::string_view what);
  // The deadline of the running entry; nullopt: none.
  void set_deadline(std::optional<SteadyTime> deadline);
  std::optional<SteadyTime> deadline() const;
  // running -> succeeded, failed or interrupted by compare-and-swap; false when the supervisor is killing it: then this
  // worker may not settle the entry, and waits for its own end.
  bool end(int entry, EntryState state);
  // Notes the result of an entry that is about to succeed, for the recovery.  If there is no room, it is not noted.
  void note_result(int entry, const OutcomeNote& result);
  // How far the running entry is.
  void set_progress(const JobProgress& progress);
  // Notes the outcome of a failed entry, once its hooks have run: failed -> judged by compare-and-swap.  If there is no
  // room for the note, the entry stays failed, and must be settled before another entry begins.  Returns false as
  // end().
  bool finish_entry(int entry, const OutcomeNote& becomes);

  // The worker waits in Redis, as this client, for a job of the queue that set_queue() named; 0: it no longer does.
  void set_waiting_client(std::uint64_t client_id);

  EntryState entry(int i) const;
  std::uint32_t flags() const;
  bool told_to_quiet() const;
  bool told_to_stop() const;
  SlotRecord& record() { return *record_; }

  // Called after every single write of this class.  Here the tests kill a worker, or let other processes run.
  void (*after_write)(void*) = nullptr;
  void* after_write_argument = nullptr;

 private:
  void wrote() const {
    if (after_write) after_write(after_write_argument);
  }
  SlotRecord* record_;
  std::size_t noted_bytes_ = 0;  // of the outcomes' texts
};

SlotSnapshot snapshot(const SlotRecord& record);

// As snapshot(), but of a dead worker, with the outcomes that it noted.  If the worker was killed after it had begun an
// entry and before it wrote its texts, they are those of the previous entry, and are left out.
SlotSnapshot last_words(const SlotRecord& record);

// Makes a slot ready for its next occupant, before the fork: it gets no process, no batch, no flags, and `incarnation`
// in `shard`.  The counters stay.
void vacate(SlotRecord& record, std::uint64_t incarnation, std::uint32_t generation, int shard = 0);

// Sets where the next occupant runs, before the fork.
void set_place(SlotRecord& record, std::string_view capsule, int number_in_capsule);

// Names the queue for a job of which its worker is freed, or soon will be: the worker looks there first.
void note_rung_for(SlotRecord& record, std::string_view queue);
// The worker's side: the queue for which the worker was freed since `rings` was read; empty if it was not.  Updates
// `rings`.  The name may be half written, or overwritten by a job.
std::string rung_for(const SlotRecord& record, std::uint32_t& rings);

// The supervisor's side of give-back: takes unbegun entries from the last towards the front, up to the first that
// cannot be taken.  Returns how many entries at the front stay with the worker; `count` when none was taken.
int take_back_unbegun(SlotRecord& record, std::uint64_t number, int count);

// Takes an entry from its worker while the code of the job or its hooks runs, so that the worker can be killed without
// hitting another job: running or failed -> being_killed by compare-and-swap.  Returns false if no code of that entry
// runs any more.
bool mark_being_killed(SlotRecord& record, std::uint64_t number, int entry);

// The file of all records of one supervisor, in shared memory: it survives exec and the supervisor's own death.  Before
// the records lies the usage of each job class.
class Scoreboard {
 public:
  // The facts of one shard: the supervisor's heartbeat there, and its address.
  struct ShardBeat {
    std::atomic<std::int64_t> last_beat;                    // BootTime of the last one
    std::atomic<std::uint32_t> lapses;                      // how often a beat came after the last one was old
    std::atomic<std::uint32_t> redis_moves;                 // how often another server was found to be its master
    std::array<std::atomic<std::uint64_t>, 4> beat_tokens;  // of the last ones, newest first; 0: none
  };
  struct Header {
    std::uint64_t magic;
    std::uint32_t version, record_size, slots;
    std::atomic<std::uint32_t> queue_changes;  // how often the supervisor saw the queues or the paused ones change
    char identity[184];
    std::atomic<std::uint32_t> all_redis_moves;  // of all shards, for workers of a program that knew no others
    char instance[64];                           // the operator's name for the supervisor, if several run; empty: none
    std::array<ShardBeat, max_shards> beats;
  };

  // Makes `<directory>/<identity>.scoreboard` (mode 0600) with `slots` zeroed records.  Throws std::system_error.
  static Scoreboard create(const std::string& directory, const std::string& identity, int slots);
  // Maps an existing one.  Throws std::runtime_error when it is not a scoreboard of this version and size.
  static Scoreboard open(const std::string& path, bool writable);
  // In memory alone, for tests.
  static Scoreboard in_memory(int slots);

  Scoreboard(Scoreboard&&) noexcept;
  Scoreboard& operator=(Scoreboard&&) noexcept;
  ~Scoreboard();  // unmaps; the file stays

  // Adds zeroed records until there are so many.  Results of slot() and usage() stay valid.  Throws std::system_error,
  // and then nothing has changed.
  void grow(int slots);

  int slots() const;
  SlotRecord& slot(int i);
  const SlotRecord& slot(int i) const;
  UsageTable& usage();
  const UsageTable& usage() const;
  std::string identity() const;
  std::string instance() const { return instance_; }
  void name_instance(const std::string& instance);
  // All shards, in the order of the configuration.
  std::array<ShardBeat, max_shards>& beats() { return header().beats; }
  std::atomic<std::int64_t>& last_beat(int shard = 0) { return beat(shard).last_beat; }
  // Notes that Redis has answered a heartbeat that was sent at `sent`.
  void note_beat(BootTime sent, int shard = 0);
  const std::atomic<std::uint32_t>& lapses(int shard = 0) const { return beat(shard).lapses; }
  // Call it before a heartbeat with this token is sent, so that every token of this supervisor that Redis may hold is
  // listed here.
  void note_beat_token(std::uint64_t token, int shard = 0);
  std::vector<std::uint64_t> beat_tokens() const;  // of all shards
  std::atomic<std::uint32_t>& queue_changes();
  // Notes that another server is the shard's master now.
  void note_redis_moved(int shard = 0);
  const std::string& path() const { return path_; }
  void remove_file();

  // Restores the size and the header, which the supervisor knows: a job may have truncated the file or written over it.
  // Returns false if nothing was wrong.
  bool mend();

 private:
  Scoreboard() = default;
  static Scoreboard map(int fd, int slots, bool writable, const std::string& path);
  void write_header();
  Header& header() const;
  ShardBeat& beat(int shard) const { return header().beats.at(static_cast<std::size_t>(shard)); }

  struct Mapping {
    void* memory = nullptr;
    std::size_t size = 0;
  };
  std::string path_;
  Mapping mapping_;
  std::vector<Mapping> outgrown_;  // of the same file
  // From the header when it was opened: a worker may overwrite that later.
  int slots_ = 0;
  std::string identity_, instance_;
};

// `<directory>/<identity with ':' and '/' as '_'>.scoreboard`
std::string scoreboard_path(const std::string& directory, const std::string& identity);

}  // namespace brood
