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

// What a job holds is let go by the very script that ends the job, and what an incarnation holds by the script that
// settles or recovers it: so nothing is left when a process dies between two commands, and nothing goes early.
//
//  - Held by the job, which says so in its payload: a unique lock.  It stays over charges, retries and hosts, and goes
//    with success, death or deletion.  So does a lock of the gem sidekiq-unique-jobs, where asked for: gem_lock.hpp.
//  - Held by the incarnation that runs the job: a lock while running.  Its note, a second field of the in-flight hash,
//    names it: the recovery reads both fields with one command.
//  - Held by the job: its sequence, which the payload names (pieces/sequences.lua).  It stays over retries, unless the
//    payload lets others pass, and goes with success, death or deletion to the next job that waits.
//  - Counted by a batch, which the payload names: how each attempt of the job ends (batches/batch.hpp).
//
// C++ decides what goes and says so by LetGo; the scripts, which decode no payload, do it in pieces/let_go.lua.  There
// each `what` has a row: the type of its key, a call that tries the right, and how it is let go.  All is checked before
// the first write.
struct LetGo {
  std::size_t of = 0;     // the entry of the call that it goes with, counted from 1; 0: it goes with the call
  std::string what;       // a row of pieces/let_go.lua
  RedisKey key;           // what is held
  std::string member;     // who holds it; by now somebody else may
  std::string verdict{};  // how it ends, for those that ask
};

// Puts them, and how many there are, behind all other keys and arguments.  A script that includes pieces/let_go.lua is
// always sent this, also for none.
void append(ScriptCall& call, const std::vector<LetGo>& all);

// The lock that a payload names, and the job that holds it if anybody does; nullopt for none, and for what cannot be
// read.
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
// That of a job that is settled so; nullopt: its attempt does not count.
std::optional<JobEnding> end_of_job(Outcome::Kind kind);

// Adds what a job holds and lets go when it ends so, and its report, if it keeps one; nothing for a payload that cannot
// be read.  A batch with a dead job is kept for `dead_timeout_s`.  `outcome` is how it is settled; null: it is deleted.
void append_held(std::vector<LetGo>& all, std::string_view payload, std::size_t entry, JobEnding end,
                 std::int64_t dead_timeout_s = DeadLimits{}.timeout_seconds, const Outcome* outcome = nullptr);
// The batch that counts the job alone.
void append_batch(std::vector<LetGo>& all, std::string_view payload, std::size_t entry, JobEnding end,
                  std::int64_t dead_timeout_s = DeadLimits{}.timeout_seconds);
// The job goes to the head of its queue, and holds its sequence: that goes to the job that has its lock and waits for
// it. Only in a settle_and_fetch.
void append_turn_for_lock(std::vector<LetGo>& all, std::string_view payload);
// The unique lock alone.
void append_unique_lock(std::vector<LetGo>& all, const Payload& job, std::size_t entry);
// Each job that holds something has one of these in its text.
std::vector<std::string_view> marks_of_holders();
// False: that is nothing.  Decided at a glance.
bool may_hold(std::string_view payload);

// Where an incarnation's note lies in its in-flight hash, beside the field "<slot>.<incarnation>".
inline std::string holdings_field(std::string_view field) { return std::string(field) + " holds"; }

// What one incarnation holds, line by line as its note has it.
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
