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

// What workers are told, and what they say: by a pipe to each, and by flags and counters in the scoreboard.  The flag
// is the message; the byte only wakes whoever waits.
class WorkerOrders {
 public:
  WorkerOrders(EventLoop& loop, WorkerShards& shards, WorkerSlots& slots, const Generations& generations);
  ~WorkerOrders();
  WorkerOrders(const WorkerOrders&) = delete;
  WorkerOrders& operator=(const WorkerOrders&) = delete;

  // The worker that has the slot now speaks through these; until it has been reaped.
  void connect(int slot, UniqueFd control, UniqueFd output, std::string token);
  void disconnect(int slot);
  // For the next program in this process: -1 where there is none.
  struct Descriptors {
    int control = -1, output = -1;
    std::string output_token;
  };
  Descriptors descriptors_of(int slot) const;

  // What every worker, present and to come, is told: SlotFlag bits.
  void tell_all(std::uint32_t flags);
  // What this one is told, all in all.
  std::uint32_t flags_of(int slot) const;
  // What one is told that is forked now.
  std::uint32_t flags_of_a_new_one(bool waits_its_turn) const { return flags_ | (waits_its_turn ? slot_quiet : 0U); }
  // Tells this one alone to finish the job in hand and exit.
  void finish(int slot);
  // Takes that back, for one that has not heard it yet.
  void take_back_finish(int slot);
  // Tells this one whether it is to wait for its turn: see serial_turns.hpp.
  void let_wait_its_turn(int slot, bool waits);
  // Lets so many workers fetch, and one of each capsule at least; nullopt: all.  Returns how many are held back.
  int hold_back_all_but(const std::optional<int>& allowed);
  // That there are to be.
  int workers() const { return slots_.table.kept(); }
  // Asks every worker where it is: each answers in its record's `dump`.  Returns whom it asked.
  std::vector<DumpRequest> ask_for_stacks();
  // Puts right what jobs may have written over flags.
  void mend_flags();

  // What workers have said since it was last asked.
  struct News {
    std::set<int> batching;  // shards in which one holds more than one job
    bool left_wait = false;  // one waits on its queue no more
  };
  News take_news() { return std::exchange(news_, {}); }

  // Workers that are told to finish and run a job still.
  int finishing() const;

  // See QueueWorkers.
  std::vector<OccupiedSlot> occupied_slots();
  // Their capsule is an index into Generations::capsules().
  std::vector<OccupiedSlot> fetching_slots();
  bool somebody_is_idle() const;
  bool somebody_is_busy() const { return slots_.busy() > 0; }
  void wake(int slot) { tell(slot, 0); }
  void note_queues_changed(bool to_all);
  void note_queues_changed(bool to_all, int shard);  // to all of that shard

 private:
  struct Lines {
    UniqueFd control;
    std::unique_ptr<FdWatch> control_watch;  // destroyed before its descriptor is closed
    std::unique_ptr<JobOutput> output;
  };

  void heard(int slot);
  bool may_go_on_anew(int slot, ControlByte byte);  // false: it breaks the protocol
  void end_for_broken_protocol(int slot);
  bool is_able_to_fetch(int slot) const;
  void tell(int slot, std::uint32_t flags);
  Lines& lines(int slot);

  EventLoop& loop_;
  WorkerShards& shards_;
  WorkerSlots& slots_;
  const Generations& generations_;
  std::vector<Lines> lines_;
  std::uint32_t flags_ = 0;  // what every worker is told
  std::uint32_t dump_requests_ = 0;
  News news_;
};

}  // namespace brood
