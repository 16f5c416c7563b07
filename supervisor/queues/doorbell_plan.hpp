#pragma once

#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "shared/scoreboard/occupied_slot.hpp"

namespace brood {

// A worker with nothing to do.
struct IdleWorker {
  int slot = 0;
  int capsule = 0;
  std::string waits_on = {};  // the queue that it waits on in Redis; empty: it does not wait there
  std::uint64_t client = 0;   // the id of the connection on which it waits
};

// The queues of each capsule, in order of priority.
using CapsuleQueues = std::vector<std::vector<std::string>>;

inline constexpr std::size_t most_doorbells = 16;

// Which queues must be watched for the workers: no worker waits on them, although one that could take their jobs is
// idle.  The first queues of every capsule come first.  Pure.
struct DoorbellPlan {
  std::vector<std::string> doorbells;  // get a doorbell each, `most` at the most
  std::vector<std::string> looked_at;  // the rest: looked at now and then
};
// Capped queues are looked at: a peek would ring while their jobs may not be taken.
DoorbellPlan plan_doorbells(const CapsuleQueues& capsules, const std::vector<IdleWorker>& idle,
                            const std::set<std::string>& left_out, std::size_t most = most_doorbells,
                            const std::set<std::string>& capped = {});

// Which idle worker to free for a job of `queue`.  Of those that may take it, first choice is one that does not wait in
// Redis, then one that waits on a queue on which another waits too, then the one whose queue comes last in its capsule.
// nullopt: nobody is idle, or somebody waits on that very queue and has the job already.
std::optional<int> worker_to_free(std::string_view queue, const CapsuleQueues& capsules,
                                  const std::vector<IdleWorker>& idle);

// What a doorbell compares to see that a worker's situation has changed; it costs a few loads.
struct IdleSign {
  bool idle = false;
  std::uint64_t waiting_client = 0;
  std::uint32_t text_sequence = 0;
  bool operator==(const IdleSign&) const = default;
};
IdleSign idle_sign(const SlotRecord& record);

// All about a worker whose sign says that it is idle.
IdleWorker idle_worker(const OccupiedSlot& slot);

}  // namespace brood
