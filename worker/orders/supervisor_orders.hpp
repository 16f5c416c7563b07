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

  // Whether a stop was ordered, or TERM has come, which the kernel sends when the supervisor dies.
  bool told_to_stop();
  bool was_sent_term() const;
  // Makes the handler of TERM in this worker first call `pass`, which must pass the signal on and be async-signal-safe.
  void pass_term_by(bool (*pass)(int signal));
  // Call it in a copy of the worker that runs one job.  The copy sees only the flags in the slot and TERM, and must not
  // wait for anything else.
  void become_a_job();
  // After that: reads the flags from `record` instead of the worker's own record.
  void read_flags_of(const SlotRecord& record) { flags_ = &record.flags; }
  // Whether the supervisor has ended.  Asks the kernel, since a job may have ignored that TERM.  Counts as a stop.
  bool supervisor_gone();
  // Whether the worker must fetch no more; also true after the order to stop.
  bool told_to_quiet();

  // From now on the heartbeat in this shard counts.
  void serve(int shard);
  // Whether the supervisor has sent no heartbeat for so long that another host may soon take it for dead and adopt its
  // jobs: then begin none.
  bool beat_is_old() const;
  // Call note_asking() when jobs are asked for.  From then on beat_is_missed() returns whether another host may have
  // adopted them: the heartbeat is old, or was old meanwhile.
  void note_asking() { lapses_ = lapses(); }
  bool beat_is_missed() const { return beat_is_old() || lapses() != lapses_; }

  // Waits until the supervisor sends something, or until `longest` has passed.  Returns true if it has sent something,
  // or is gone.
  bool wait(std::chrono::milliseconds longest);
  // Waits for `length`, whatever the supervisor sends except stop.
  void pause(std::chrono::milliseconds length);
  // Readable when the supervisor sends something; -1 when the supervisor is gone.
  int descriptor() const { return orphaned_ ? -1 : worker_setup_.control; }

  void say(ControlByte byte);

  // Asks for an incarnation that was never used before, by a byte for that.  Throws ToldToStop if the order to stop
  // arrives meanwhile.
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
