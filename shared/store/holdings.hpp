#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "shared/job/payload.hpp"
#include "shared/redis/keyspace.hpp"
#include "shared/store/outcome.hpp"
#include "shared/store/script.hpp"

namespace brood {

// The script that ends a job also lets go of what the job holds.  The script that settles or recovers an incarnation
// lets go of what the incarnation holds.  So nothing is left behind when a process dies between two commands, and
// nothing is let go too early.
//
//  - A job holds a unique lock, which its payload names.  The job keeps it over charges, retries and hosts, and lets go
//    of it with success, death or deletion.  The same holds for a lock of the gem sidekiq-unique-jobs, if these are
//    served: gem_lock.hpp.
//  - An incarnation holds the running lock of the job that it runs.  Its note, a second field of the in-flight hash,
//    names the lock: the recovery reads both fields with one command.
//  - A job holds its sequence, which its payload names (pieces/sequences.lua).  The job keeps it over retries, unless
//    the payload lets others pass.  With success, death or deletion the sequence goes to the next job that waits.
//  - A batch, which the payload names, counts how each attempt of the job ends (batches/batch.hpp).
//
// C++ decides what is let go, as a list of LetGo.  The scripts decode no payload; they do it in pieces/let_go.lua.
// There each `what` has a row: the type of its key, a call that tries the right, and how it is let go.  All of it is
// checked before the first write.
struct LetGo {
  std::size_t of = 0;     // the entry of the call that it goes with, counted from 1; 0: it goes with the call
  std::string what;       // a row of pieces/let_go.lua
  RedisKey key;           // what is held
  std::string member;     // its holder; if it has another holder by now, it is left alone
  std::string verdict{};  // how the job ends, for the rows that need it
};

// Appends `all` and its size behind all other keys and arguments.  A script that includes pieces/let_go.lua must always
// be sent this, also if `all` is empty.
void append(ScriptCall& call, const std::vector<LetGo>& all);

// The lock that a payload names, and the jid of that job, which may hold it.  nullopt if the payload names none or
// cannot be read.
struct NamedLock {
  std::string lock, jid;
};
std::optional<NamedLock> lock_named_by(std::string_view payload);
std::optional<NamedLock> lock_named_by(const Payload& job);

// How an attempt of a job ends, for what the job holds.
enum class JobEnding {
  done,    // it succeeded, or was not to run any more
  failed,  // it waits for a retry, and holds what it held
  gone,    // it is dead, failed for good, or was deleted
};
// How the attempt of a job ends that is settled by `kind`; nullopt: the attempt does not count.
std::optional<JobEnding> end_of_job(Outcome::Kind kind);

// Adds what a job lets go of when it ends so, and its report, if it keeps one.  Adds nothing for a payload that cannot
// be read.  A batch with a dead job is kept for `dead_timeout_s`.  `outcome` is how the job is settled; null: it is
// deleted.
void append_held(std::vector<LetGo>& all, std::string_view payload, std::size_t entry, JobEnding end,
                 std::int64_t dead_timeout_s = DeadLimits{}.timeout_seconds, const Outcome* outcome = nullptr);
// Adds only the batch that counts the job.
void append_batch(std::vector<LetGo>& all, std::string_view payload, std::size_t entry, JobEnding end,
                  std::int64_t dead_timeout_s = DeadLimits{}.timeout_seconds);
// For a job that holds its sequence and goes to the head of its queue, because another job has its lock: the sequence
// goes to that other job, if it waits for it.  Only for a settle_and_fetch.
void append_turn_for_lock(std::vector<LetGo>& all, std::string_view payload);
// Adds only the unique lock.
void append_unique_lock(std::vector<LetGo>& all, const Payload& job, std::size_t entry);
// Each job that holds something has one of these in its text.
std::vector<std::string_view> marks_of_holders();
// Whether the text has one of these marks.  If not, the job holds nothing.  Does not parse the payload.
bool may_hold(std::string_view payload);

// Where an incarnation's note lies in its in-flight hash, beside the field "<slot>.<incarnation>".
inline std::string holdings_field(std::string_view field) { return std::string(field) + " holds"; }

// The locks and other things that one incarnation holds.  Its note has a line for each.
class IncarnationHoldings {
 public:
  struct Held {
    std::string what;
    RedisKey key;
    std::string member;
  };

  IncarnationHoldings() = default;
  explicit IncarnationHoldings(std::string_view note);  // lines that cannot be read are passed over

  void add(Held held) { all_.push_back(std::move(held)); }
  bool empty() const { return all_.empty(); }
  const std::vector<Held>& all() const { return all_; }
  std::string note() const;

 private:
  std::vector<Held> all_;
};

// Adds all that an incarnation of this identity holds, and its note.
void append_held(std::vector<LetGo>& all, const IncarnationHoldings& held, std::string_view identity);

}  // namespace brood
