#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "shared/config/cap_settings.hpp"
#include "shared/redis/command.hpp"
#include "shared/redis/reply.hpp"
#include "shared/store/holdings.hpp"
#include "shared/store/outcome.hpp"
#include "shared/store/script.hpp"
#include "shared/store/tenants/tenants.hpp"

namespace brood {

// One settle_and_fetch: the outcomes of a worker's batch, and where it wants the next batch from.
struct Settlement {
  std::string identity;
  std::string field;               // "<slot>.<incarnation>"
  std::uint64_t number = 0;        // of the last applied settle
  std::string held_queue;          // the queue of the held batch; empty when nothing is held
  std::vector<Outcome> outcomes;   // of the oldest entries, in order
  std::vector<LetGo> let_go = {};  // what ends with these outcomes
  std::vector<std::string> draw;   // the queues to ask, in order; at most 16 are sent
  int want = 0;                    // 0: settle only
  std::string wait_queue;          // the queue that the worker will wait on if it finds nothing; empty: none
  DeadLimits dead_limits;
  const std::vector<CapSettings>* caps = nullptr;  // of queues, these among them; null: there are none
  const ServedTenants* tenants = nullptr;          // must be set if the draw has some
};

inline constexpr std::size_t max_queues_asked = 16;
inline constexpr int max_bytes_fetched = 1 << 20;  // of one batch; a single larger job is fetched alone

ScriptCall settle_and_fetch(const Settlement& settlement, WallTime now);

// Settles what a living worker holds when its field is lost (flushed, evicted, deleted).  The script settles the
// performed entries, each only if the list still holds that very payload, and gives back the rest.
struct LostSettlement {
  struct Performed {
    std::string entry;  // as it was fetched
    Outcome outcome;
  };
  std::string identity;
  std::string field;
  std::string held_queue;
  std::vector<Performed> performed;  // the oldest entries, in order
  DeadLimits dead_limits;
  IncarnationHoldings held = {};  // by the incarnation: it ends here
};
ScriptCall settle_without_field(const LostSettlement& settlement, WallTime now);

struct SettledWithoutField {
  std::size_t settled = 0, given_back = 0;  // both 0 if a recovery was first
};
SettledWithoutField read_settled_without_field(ReplyView reply);  // throws UnexpectedReply

// For a worker that holds nothing: waits at most `longest` until a job of `queue` has moved to its list.  The reply is
// the job; nullopt if none came, or Redis does not let it wait.
Command wait_on_queue(const std::string& identity, const std::string& field, const std::string& queue,
                      std::chrono::seconds longest);
std::optional<std::string> read_arrived(ReplyView reply);

// A fetch without a settlement, for a worker that holds nothing.  Send it right behind the command that waits on
// `wait_queue`, and never again.  It also lets a job that the wait has brought enter its sequence, if before_wait() was
// sent right in front of that command, on the same connection.
struct FetchAfterWait {
  std::string identity;
  std::string field;
  std::uint64_t number = 0;  // of the settle that named the queue waited on
  std::string wait_queue;
  std::vector<std::string> draw;  // at most max_queues_asked_after_wait are sent; none: what the wait brings is entered
  int want = 1;
  bool lets_others_enter = true;  // jobs that other workers' waits have brought enter first; false: not waited for
};
inline constexpr std::size_t max_queues_asked_after_wait = 64;  // sent once a wait, not once a fetch
ScriptCall before_wait(const FetchAfterWait& fetch);
ScriptCall fetch_after_wait(const FetchAfterWait& fetch);

// The answer of these scripts.
struct Settled {
  bool fenced = false;          // nothing was written: this incarnation has been recovered
  bool applied_before = false;  // this very settle had been applied; nothing was written now
  bool nothing = false;         // a fetch after a wait found nothing to do
  bool gone_to_wait = false;    // what a wait has brought waits for its sequence now: nothing is held
  // Nothing was fetched although a queue has jobs.  `has_more`: those looked at went to wait for their sequences.
  // `has_more_soon`: a job that another worker's wait has brought must enter its sequence first, and is about to.
  bool has_more = false, has_more_soon = false;
  std::uint64_t number = 0;
  std::string queue;                  // the list's, or the one waited on; empty: none
  std::vector<std::string> skipped;   // queues that are no lists
  std::vector<std::string> payloads;  // the whole list, oldest first
};

// Throws UnexpectedReply for an error reply or another shape.
Settled read_settled(ReplyView reply);

}  // namespace brood
