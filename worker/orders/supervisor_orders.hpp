#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>

#include "shared/scoreboard/scoreboard.hpp"
#include "shared/scoreboard/worker_setup.hpp"

namespace brood {

// Thrown when the order to stop arrives while the worker waits for Redis, or for an incarnation.  Nothing more was
// settled.
class ToldToStop {};

// The supervisor's orders to a worker: the flags in its slot, the bytes on its control pipe, TERM, and the supervisor's
// own end.
class SupervisorOrders {
 public:
  // Installs the handler of TERM: finish the job in hand and exit.
  SupervisorOrders(const WorkerSetup& worker_setup, std::chrono::milliseconds shutdown_timeout);

  // A stop was ordered, or TERM came: the kernel sends it when the supervisor dies.
  bool told_to_stop();
  bool was_sent_term() const;
  // From now on the handler of TERM in this worker first calls `pass`, which sends the signal on and is
  // async-signal-safe.
  void pass_term_by(bool (*pass)(int signal));
  // Call it in a copy of the worker that runs one job.  The copy hears only the flags in the slot and TERM, and must
  // wait for nothing else.
  void become_a_job();
  // After that: reads the flags from `record` instead of the worker's own record.
  void read_flags_of(const SlotRecord& record) { flags_ = &record.flags; }
  // Asks the kernel: a job may have ignored that TERM.  Counts as a stop from then on.
  bool supervisor_gone();
  // Fetch no more; also true after the order to stop.
  bool told_to_quiet();

  // From now on the heartbeat in this shard counts.
  void serve(int shard);
  // The supervisor has sent no heartbeat for so long that another host may soon take it for dead and adopt its jobs:
  // begin none.
  bool beat_is_old() const;
  // Jobs are asked for now.  beat_is_missed() tells from then on whether they may be another host's by now: the
  // heartbeat is old, or was so meanwhile.
  void note_asking() { lapses_ = lapses(); }
  bool beat_is_missed() const { return beat_is_old() || lapses() != lapses_; }

  // Waits until the supervisor sends something, or until `longest` has passed.  True when it has sent something, or is
  // gone.
  bool wait(std::chrono::milliseconds longest);
  // Waits for so long, whatever the supervisor sends except stop.
  void pause(std::chrono::milliseconds length);
  // Readable when the supervisor sends something; -1 when the supervisor is gone.
  int descriptor() const { return orphaned_ ? -1 : worker_setup_.control; }

  void say(ControlByte byte);

  // Asks for an incarnation never used before, by one of the bytes that do.  Throws ToldToStop if the
  // order to stop arrives meanwhile.
  std::uint64_t ask_for_incarnation(ControlByte byte = ControlByte::need_incarnation);

 private:
  void note_supervisor_gone();
  std::uint32_t lapses() const;  // how many such gaps are over

  WorkerSetup worker_setup_;
  const std::atomic<std::uint32_t>* flags_;      // SlotFlag bits
  const Scoreboard::ShardBeat* beat_ = nullptr;  // nullptr: there is no heartbeat
  std::uint32_t lapses_ = 0;                     // when jobs were last asked for
  bool orphaned_ = false;
  SteadyTime looked_for_supervisor_{};
};

}  // namespace brood
