#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace brood::walk {

// CLOCK_MONOTONIC in nanoseconds, the clock of the walk's jobs.
std::int64_t now_ns();
constexpr std::int64_t second_ns = 1'000'000'000;

// A job as the walk pushed it, and what the walk did with it since.
struct WalkJob {
  enum class Answer { accepted, refused, unknown };  // refused: another has its unique lock

  std::string jid, job_class, args, queue;
  int shard = 0;
  Answer answer = Answer::unknown;
  std::int64_t asked = 0, answered = 0;
  bool is_scheduled = false;
  std::optional<std::int64_t> expires_in_ns{};
  int items = 0;                // of an iterable job
  bool stores_nothing = false;  // retry: false
  std::string unique_key{};     // jobs with the same key may not overlap; empty: they may
  std::string lock{};           // shared by all jobs with that lock
  std::string on_conflict{};
  bool was_kept = false;     // the client kept the push for a while
  bool is_text = false;      // not JSON: `jid` is the whole text
  bool has_class = true;     // there is code for it
  std::int64_t deleted = 0;  // when a successful command deleted it; 0: none did
  bool was_touched = false;  // a command moved it
  std::int64_t moved = 0;    // when a command moved it, so that it may run again
  // `brood kill`
  struct Kill {
    std::string outcome;
    std::int64_t asked = 0, answered = 0;
    bool is_settled = false;  // it is in its intended place
  };
  std::vector<Kill> kills{};
  std::int64_t cancel_asked = 0, cancelled = 0;  // while it iterated
  std::string sequence{};                        // its jobs run one after the other; empty: none
  bool lets_pass = false;                        // lets the next job of its sequence pass while it waits for a retry
  std::string bid{};                             // of its batch
  // For a step of a flow: the steps that it waits for, and its reaction if one of them dies.
  std::vector<std::string> after{};
  std::string if_failed{};
};

// The prefix of the last argument of an encrypted job.
inline const std::string secret_mark = "in-clear-";

// A line of the ledger: see ledger.hpp.
struct LedgerLine {
  char what = 0;
  std::string id;  // of a job or a batch
  pid_t pid = 0;
  std::int64_t time = 0;
  std::string first, second, third, fourth;
};

// The ledger's record of one run.
struct WalkRun {
  std::string jid, queue, bid;
  int index = -1;  // in its batch
  pid_t pid = 0;
  std::int64_t began = 0, ended = 0;  // 0: cut off
  char end = 0;                       // D, F, P; 0: cut off
  int retry_count = 0;
  std::int64_t next_began = 0;  // when its job ran again; 0: it did not

  bool is_last_before(std::int64_t time) const { return next_began == 0 || next_began >= time; }
};

// The place of something in Redis.
struct Whereabouts {
  int shard = 0;
  std::string key, payload;
};

std::string jid_in(const std::string& payload);

struct Finding {
  std::string jid;  // or a bid; empty: about none in particular
  std::string what;
};

// A limit on what may run at once, and the time in which it held.
struct Bound {
  std::int64_t from = 0, until = 0;
  int most = 0;
};

// The bounds of the queue "capped", of the class WalkHeavy, and of each tenant of the queue "shared".
struct Caps {
  std::vector<Bound> of_queue, of_class, of_tenant;
};

// Actions of the walk that explain what would otherwise be a fault.
struct Excuses {
  int kills = 0;         // kills of brood's processes other than supervisors
  int lost_batches = 0;  // jobs that were in flight when a supervisor and all its workers were killed
  // Shards come and go.  Workers of two configurations then divide caps differently, and a limit moves between two
  // shards.
  bool shards_change = false;
  // Redis took longer to answer than a worker waits for the time.  Then a job that may have expired runs.
  bool redis_was_slow = false;
  // The machine let a process wait for so long: a job whose worker found in time that it may run begins so much later.
  std::int64_t longest_stall_ns = 0;
};

// A pause of a queue or a class, from the time when all workers must know of it until its end.
struct Pause {
  int shard = 0;
  std::string queue;  // or a class
  bool is_class = false;
  std::int64_t from = 0, until = 0;
};

// The independent ledger: the pushed jobs, the runs, and the rules that both must obey in the end.
class JobBook {
 public:
  explicit JobBook(std::string ledger) : ledger_(std::move(ledger)) {}

  WalkJob& add(WalkJob job);
  WalkJob* find(const std::string& jid);
  const std::map<std::string, WalkJob>& jobs() const { return jobs_; }

  void read();  // reads the ledger again
  const std::vector<LedgerLine>& lines() const { return lines_; }
  std::vector<WalkRun> runs() const { return runs_of(lines_); }
  std::vector<std::string> running() const;  // the jobs that have begun recently and not ended

  void note_pause(Pause pause) { pauses_.push_back(std::move(pause)); }

  // Returns what is wrong.  Call it once no job moves any more.
  std::vector<Finding> judge(const std::vector<Whereabouts>& left, const Excuses& excuses, const Caps& caps) const;

  // Everything known about a job or a batch.
  std::string history(const std::string& jid, std::int64_t since) const;

 private:
  static std::vector<WalkRun> runs_of(const std::vector<LedgerLine>& lines);
  void add_announced();
  void judge_order(const std::map<std::string, std::vector<const WalkRun*>>& runs_of_job,
                   std::vector<Finding>& findings) const;

  std::string ledger_;
  std::map<std::string, WalkJob> jobs_;
  std::vector<LedgerLine> lines_;
  std::vector<Pause> pauses_;
};

}  // namespace brood::walk
