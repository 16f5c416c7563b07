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

// Where each child is to run, and where it runs.  A *place* is one of a capsule's workers, wanted as long as it is
// kept; a *slot* is a record of the scoreboard, taken by a worker from its spawn until it is dead and what it held is
// recovered.  So one place goes through many slots, and in a rolling restart an old and a new worker have one each.
// Plain values and pure bookkeeping, no system calls: tests drive it with invented pids.
class ProcessTable {
 public:
  struct Place {
    enum class State {
      waiting,   // not to be filled yet
      kept,      // filled, and filled again when its worker ends
      given_up,  // its worker has been told to finish, and nobody follows
    };
    std::uint32_t generation = 0;
    int capsule = 0;  // index into the capsules of its generation's configuration
    int number = 0;   // among the capsule's workers
    State state = State::kept;
    bool fresh = false;                 // on trial: not yet part of what is to be
    std::optional<int> slot{};          // of its worker; nullopt: vacant
    bool reserved = false;              // its worker is on its way
    int last_slot = -1;                 // of the worker before; -1: there was none
    SteadyTime rests_until{};           // when vacant: not to be filled before
    std::chrono::milliseconds rest{0};  // how long its last rest was
    RestartPolicy policy{};
  };

  struct Slot {
    pid_t pid = 0;          // 0: vacant
    bool held = false;      // vacant, and what its last worker held is not yet recovered
    bool reserved = false;  // vacant, and its worker is on its way; what follows is of the one before
    int place = -1;         // the key of its place, which may be gone
    std::uint32_t generation = 0;
    int capsule = 0, number = 0;    // as its place's
    std::uint64_t incarnation = 0;  // the last one assigned; never reused
    int shard = 0;                  // that it is for
    int wanted_shard = 0;           // where the worker is to go once it holds nothing
    bool goes_if_first = false;     // any other that was told the same may go in its stead
    SteadyTime in_shard_since{}, called_at{};
    SteadyTime occupied_since{};
    EndedBy ended_by = EndedBy::itself;     // whom the supervisor will hold to have ended this worker
    std::optional<WorkerDeath::Fate> fate;  // of the running job, when that is `by_hand`
    std::optional<SteadyTime> kill_at;      // it has been aborted; when SIGKILL follows
    std::uint32_t flags = 0;                // SlotFlag bits for this worker alone
    std::optional<SteadyTime> ready_at;     // when it said so
    bool waits_its_turn = false;            // in a capsule of one worker: see serial_turns.hpp
    bool held_back = false;                 // memory is scarce: see pressure_relief.hpp
    bool never_fetched = false;             // it has done so since it was forked
    SteadyTime ended_at{};                  // when vacant and held: when its last worker was reaped
    std::uint64_t processed_before = 0;     // the record's counter when it was forked
  };

  explicit ProcessTable(int slots);
  // Goes on where another left off: its last incarnation, and how many slots it has used.
  void resume(std::uint64_t last_incarnation, int used_slots);
  std::uint64_t last_incarnation() const { return last_incarnation_; }
  void grow(int slots);

  // Returns the key of the new place.
  int add_place(std::uint32_t generation, int capsule, int number, Place::State state = Place::State::kept);
  void remove_place(int key);

  // A slot that nobody has and nothing is left in, the lowest; nullopt: none.
  std::optional<int> free_slot() const;
  // The free `slot` is for the vacant place `key`, whose worker is on its way: neither is given to another.
  void reserve(int slot, int key);
  // It is free again, and the place, if it is there still, vacant.
  void unreserve(int slot);
  // Notes that `pid` now runs in the free `slot`, as the worker of the vacant place `key`.
  void occupy(int slot, int key, pid_t pid, SteadyTime now);
  // Empties the slot that `pid` ran in, and its place, and says which slot; nullopt for a process that was never ours.
  // It is held; what it knows of its last worker stays readable until it is occupied again.
  std::optional<int> vacate(pid_t pid);
  // Nothing of its last worker is left: it is free.
  void release(int slot);

  // A number never assigned before, now `slot`'s, and for its shard.
  std::uint64_t assign_incarnation(int slot);

  std::optional<int> slot_of(pid_t pid) const;
  // The places to fill that have rested enough, in order.
  std::vector<int> due_for_refill(SteadyTime now) const;
  // When the next place that rests now may be filled; nullopt when none rests.
  std::optional<SteadyTime> next_refill(SteadyTime now) const;

  int kept() const;   // places
  int ready() const;  // of them, with a worker that is ready
  // Of them, how many cannot be filled: start after start fails there; and the longest rest among them.
  struct FailingStarts {
    int places = 0;
    std::chrono::milliseconds longest_rest{0};
  };
  FailingStarts failing_starts() const;
  int occupied() const;  // slots
  bool is_living(int slot) const { return (*this)[slot].pid != 0; }

  int slots() const { return static_cast<int>(slots_.size()); }
  int used_slots() const { return used_; }  // all beyond these were never occupied
  Slot& operator[](int slot) { return slots_.at(static_cast<std::size_t>(slot)); }
  const Slot& operator[](int slot) const { return slots_.at(static_cast<std::size_t>(slot)); }
  std::map<int, Place>& places() { return places_; }
  const std::map<int, Place>& places() const { return places_; }
  Place* place_of(int slot);  // nullptr: it is gone

 private:
  std::vector<Slot> slots_;
  std::map<int, Place> places_;
  int next_key_ = 0, used_ = 0;
  std::uint64_t last_incarnation_ = 0;
};

}  // namespace brood
