#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "shared/base/unique_fd.hpp"
#include "shared/scoreboard/dump_request.hpp"
#include "shared/scoreboard/occupied_slot.hpp"
#include "supervisor/process/event_loop.hpp"
#include "supervisor/workers/generation/generations.hpp"
#include "supervisor/workers/output/job_output.hpp"
#include "supervisor/workers/worker_shards.hpp"
#include "supervisor/workers/worker_slots.hpp"

namespace brood {

// The orders to workers and their reports: by a pipe to each, and by flags and counters in the scoreboard.  The flag is
// the message; the byte only wakes a waiting worker.
class WorkerOrders {
 public:
  WorkerOrders(EventLoop& loop, WorkerShards& shards, WorkerSlots& slots, const Generations& generations);
  ~WorkerOrders();
  WorkerOrders(const WorkerOrders&) = delete;
  WorkerOrders& operator=(const WorkerOrders&) = delete;

  // Watches the pipes of the slot's worker until it has been reaped.
  void connect(int slot, UniqueFd control, UniqueFd output, std::string token);
  void disconnect(int slot);
  // For the next program in this process; -1: none.
  struct Descriptors {
    int control = -1, output = -1;
    std::string output_token;
  };
  Descriptors descriptors_of(int slot) const;

  // Sets these SlotFlag bits for every worker, present and future.
  void tell_all(std::uint32_t flags);
  // All present flags of this worker.
  std::uint32_t flags_of(int slot) const;
  // The flags of a worker that is forked now.
  std::uint32_t flags_of_a_new_one(bool waits_its_turn) const { return flags_ | (waits_its_turn ? slot_quiet : 0U); }
  // Orders this worker to finish the job in hand and exit.
  void finish(int slot);
  // Takes finish() back, for a worker that has not seen it yet.
  void take_back_finish(int slot);
  // Orders this worker to wait for its turn, or to go on: see serial_turns.hpp.
  void let_wait_its_turn(int slot, bool waits);
  // Lets `allowed` workers fetch, but at least one of each capsule; nullopt: all.  Returns how many are held back.
  int hold_back_all_but(const std::optional<int>& allowed);
  // The intended number of workers.
  int workers() const { return slots_.table.kept(); }
  // Asks every worker for its stack, or only the worker in `slot`.  Each answers in its record's `dump`.  Returns the
  // requests.
  std::vector<DumpRequest> ask_for_stacks(std::optional<int> slot = std::nullopt);
  // Restores flags that jobs may have overwritten.
  void mend_flags();

  // The workers' reports since the previous call.
  struct News {
    std::set<int> batching;  // shards in which a worker holds more than one job
    bool left_wait = false;  // a worker has stopped waiting on its queue
  };
  News take_news() { return std::exchange(news_, {}); }

  // The number of workers that have been ordered to finish and still run a job.  Idle ones leave in a moment.
  int finishing() const;

  // See QueueWorkers.
  std::vector<OccupiedSlot> occupied_slots();
  // The same slots of workers that fetch, with `capsule` as an index into Generations::capsules().
  std::vector<OccupiedSlot> fetching_slots();
  bool somebody_is_idle() const;
  bool somebody_is_busy() const { return slots_.busy() > 0; }
  void wake(int slot) { tell(slot, 0); }
  void send_byte(int slot);  // the same, without ending its wait in Redis
  void note_queues_changed(bool to_all);
  void note_queues_changed(bool to_all, int shard);  // `to_all`: to all workers of that shard

 private:
  struct Lines {
    UniqueFd control;
    std::unique_ptr<FdWatch> control_watch;  // destroyed before its descriptor is closed
    std::unique_ptr<JobOutput> output;
  };

  void heard(int slot);
  bool may_go_on_anew(int slot, ControlByte byte);  // false: the byte breaks the protocol
  void end_for_broken_protocol(int slot);
  bool is_able_to_fetch(int slot) const;
  void tell(int slot, std::uint32_t flags);
  Lines& lines(int slot);

  EventLoop& loop_;
  WorkerShards& shards_;
  WorkerSlots& slots_;
  const Generations& generations_;
  std::vector<Lines> lines_;
  std::uint32_t flags_ = 0;  // for every worker
  std::uint32_t dump_requests_ = 0;
  News news_;
};

}  // namespace brood
