#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "shared/base/clock.hpp"
#include "shared/store/in_flight/worker_death.hpp"
#include "supervisor/workers/places/ended_by.hpp"
#include "supervisor/workers/places/restart_policy.hpp"

namespace brood {

// Where each child runs or will run.  Pure bookkeeping, no system calls: tests drive it with invented pids.
//
// A *place* is one of a capsule's workers; it exists as long as that worker is wanted.  A *slot* is a record of the
// scoreboard; a worker holds it from its spawn until it is dead and its jobs are recovered.  So a place uses many slots
// one after the other, and in a rolling restart the old and the new worker have one each.
class ProcessTable {
 public:
  struct Place {
    enum class State {
      waiting,   // not to be filled yet
      kept,      // filled, and filled again when its worker ends
      given_up,  // its worker is ordered to finish, and is not replaced
    };
    std::uint32_t generation = 0;
    int capsule = 0;  // index into the capsules of its generation's configuration
    int number = 0;   // among the capsule's workers
    State state = State::kept;
    bool fresh = false;                 // on trial in a roll: not yet one of the permanent places
    std::optional<int> slot{};          // its worker's; nullopt if vacant
    bool reserved = false;              // its worker is on its way
    bool was_ready = false;             // this or an earlier worker of it was ready
    int last_slot = -1;                 // its last worker's; -1 if there was none
    SteadyTime rests_until{};           // if vacant: not filled before this
    std::chrono::milliseconds rest{0};  // the length of its last rest
    RestartPolicy policy{};
  };

  struct Slot {
    pid_t pid = 0;          // 0: vacant
    bool held = false;      // vacant, but its last worker is not recovered yet
    bool reserved = false;  // vacant, but its worker is on its way; the members below are the last worker's
    int place = -1;         // the key of its place, which may be gone
    std::uint32_t generation = 0;
    int capsule = 0, number = 0;    // as its place's
    std::uint64_t incarnation = 0;  // the last one assigned; never reused
    int shard = 0;                  // that its worker serves
    int wanted_shard = 0;           // the shard to which its worker moves once it holds nothing
    bool goes_if_first = false;     // called together with others: only the first that is free moves
    SteadyTime in_shard_since{}, called_at{};
    SteadyTime occupied_since{};
    EndedBy ended_by = EndedBy::itself;     // the cause of this worker's end, if the supervisor knows one
    std::optional<WorkerDeath::Fate> fate;  // of the running job, if `ended_by` is by_hand
    std::optional<SteadyTime> kill_at;      // when SIGKILL follows; set once it has been aborted
    std::uint32_t flags = 0;                // SlotFlag bits for this worker alone
    std::optional<SteadyTime> ready_at;     // when it reported that
    bool waits_its_turn = false;            // in a capsule of one worker: see serial_turns.hpp
    bool held_back = false;                 // memory is scarce: see pressure_relief.hpp
    bool never_fetched = false;             // it has waited for its turn since it was forked
    SteadyTime ended_at{};                  // if vacant and held: when its last worker was reaped
    std::uint64_t processed_before = 0;     // the record's counter when it was forked
  };

  explicit ProcessTable(int slots);
  // Continues after the previous program: its last incarnation, and how many slots it had used.
  void resume(std::uint64_t last_incarnation, int used_slots);
  std::uint64_t last_incarnation() const { return last_incarnation_; }
  void grow(int slots);

  // Returns the key of the new place.
  int add_place(std::uint32_t generation, int capsule, int number, Place::State state = Place::State::kept);
  void remove_place(int key);

  // Until when the place whose last worker had `slot` rests; the epoch if the slot is occupied, or was not the last
  // slot of any place.
  SteadyTime rests_until(int slot) const;

  // The lowest slot that is neither occupied, held nor reserved; nullopt if none.
  std::optional<int> free_slot() const;
  // Notes that the worker of the vacant place `key` is on its way and will use the free `slot`: both are taken.
  void reserve(int slot, int key);
  // Undoes reserve(): the slot is free again, and the place, if it still exists, vacant.
  void unreserve(int slot);
  // Notes that `pid` now runs in the free `slot`, as the worker of the vacant place `key`.
  void occupy(int slot, int key, pid_t pid, SteadyTime now);
  // Empties the slot that `pid` ran in, and its place.  Returns the slot, or nullopt if `pid` was no worker.  The slot
  // is held; its data about the last worker stay readable until it is occupied again.
  std::optional<int> vacate(pid_t pid);
  // Notes that a worker of the previous program died in the free `slot`, and that its jobs are not recovered yet.
  void hold(int slot, const Slot& last);
  // Frees the slot: its last worker is recovered.
  void release(int slot);

  // Notes that the worker in `slot` has reported that it is ready.
  void note_ready(int slot, SteadyTime now);

  // Gives `slot` a new incarnation, never assigned before, for its shard.
  std::uint64_t assign_incarnation(int slot);

  std::optional<int> slot_of(pid_t pid) const;
  // The places to fill that have rested enough, in order.
  std::vector<int> due_for_refill(SteadyTime now) const;
  // When the next resting place may be filled; nullopt if none rests.
  std::optional<SteadyTime> next_refill(SteadyTime now) const;

  int kept() const;   // places
  int ready() const;  // places that have a ready worker
  // Whether each kept place has or had a ready worker.  Workers that end after each job are seldom all ready at once.
  bool all_were_ready() const;
  // The kept places where every start fails: how many, and the longest rest among them.
  struct FailingStarts {
    int places = 0;
    std::chrono::milliseconds longest_rest{0};
  };
  FailingStarts failing_starts() const;
  int occupied() const;  // slots
  bool is_living(int slot) const { return (*this)[slot].pid != 0; }

  int slots() const { return static_cast<int>(slots_.size()); }
  int used_slots() const { return used_; }  // slots beyond these were never occupied
  Slot& operator[](int slot) { return slots_.at(static_cast<std::size_t>(slot)); }
  const Slot& operator[](int slot) const { return slots_.at(static_cast<std::size_t>(slot)); }
  std::map<int, Place>& places() { return places_; }
  const std::map<int, Place>& places() const { return places_; }
  Place* place_of(int slot);  // nullptr if the place is gone

 private:
  std::vector<Slot> slots_;
  std::map<int, Place> places_;
  int next_key_ = 0, used_ = 0;
  std::uint64_t last_incarnation_ = 0;
};

}  // namespace brood
